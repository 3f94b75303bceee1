import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "../testing/access-key-server.ts";
import { createEndedCertificates } from "./ended-credentials.ts";

it("certificates that have ended have no record, and are refused whatever time it is", async () => {
  await using server = await createAccessKeyServer({ storage: createMemoryStorage() });
  const { certificates } = server;
  const time = manualTime(Date.now());
  const certificate = { commonName: "jane", organizations: [], issuedAt: 0, instanceUid: "demo" };
  const end = time.clock.now() + 30_000;
  await certificates.record({ ...certificate, serial: "AA", notAfter: end });
  await certificates.record({ ...certificate, serial: "BB", notAfter: end + 3600_000 });
  const errors: unknown[] = [];
  const runtime = { ...systemRuntime, ...time };
  using controller = createEndedCertificates(
    { runtime, onError: (error) => void errors.push(error) },
    { certificates },
  );
  await controller.idle();
  time.setTimeOfDay(end - 24 * 3600_000);
  time.advance(30_000);
  await expect.poll(() => certificates.find("AA")).toBeUndefined();
  expect(certificates.refusalOf("AA", "demo")).toBe("the certificate is not known");
  expect(certificates.find("BB")).toBeDefined();
  expect(errors).toEqual([]);
});
