import { generateKeyPairSync } from "node:crypto";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestCluster, type TestCluster } from "@postern/kubernetes/builtin/testing/test-cluster";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { createCertificateSigningController } from "./certificate-signing-controller.ts";
import { createRequestSigner } from "./request-signer.ts";

const HOUR = 3_600_000;
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const request = Buffer.from(createCertificateRequest(privateKey, { commonName: "dev", organizations: [] }));
const csr = (name: string) => ({
  metadata: { name },
  spec: {
    request: request.toString("base64"),
    signerName: "kubernetes.io/kube-apiserver-client",
    usages: ["client auth"],
  },
});

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(async () => {
  expect(cluster.port.errors).toEqual([]);
  await cluster[Symbol.asyncDispose]();
});

/** A controller whose clock is ahead of the store's. */
function startController(aheadMs = 0) {
  const clock = { ...systemRuntime.clock, now: () => systemRuntime.clock.now() + aheadMs };
  const runtime = { ...systemRuntime, clock };
  const authority = createCertificateAuthority({ commonName: "ca", clock, random: runtime.random });
  const requests = cluster.resource("certificatesigningrequests");
  const signer = createRequestSigner({ runtime, requests, authority: () => authority });
  return createCertificateSigningController({ ...cluster.port, runtime }, requests, signer);
}

const decide = (name: string, type: "Approved" | "Denied") =>
  cluster.update("certificatesigningrequests", { name, subresource: "approval" }, (current) => ({
    ...current,
    status: {
      conditions: [{ type, status: "True", reason: "Test", lastUpdateTime: formatTimestamp(Date.now()) }],
    },
  }));
const stateOf = (name: string): any => cluster.get("certificatesigningrequests", { name });

describe("the certificate signing controller", () => {
  it("signs only what has been approved", async () => {
    for (const name of ["approved", "denied", "pending"]) await cluster.create("certificatesigningrequests", csr(name));
    using controller = startController();
    await decide("approved", "Approved");
    await decide("denied", "Denied");
    await controller.idle();
    expect(Buffer.from(stateOf("approved").status.certificate, "base64").toString()).toContain("BEGIN CERTIFICATE");
    expect(stateOf("denied").status.certificate).toBeUndefined();
    expect(stateOf("pending").status?.certificate).toBeUndefined();
  });

  it.each([
    ["keeps decided requests for an hour", HOUR - 60_000, ["approved", "denied", "pending"]],
    ["removes decided requests after an hour", HOUR + 60_000, ["pending"]],
    ["removes pending requests after a day", 24 * HOUR + 60_000, []],
  ])("%s", async (_what, aheadMs, left) => {
    for (const name of ["approved", "denied", "pending"]) await cluster.create("certificatesigningrequests", csr(name));
    await decide("approved", "Approved");
    await decide("denied", "Denied");
    {
      using first = startController();
      await first.idle();
    }
    using controller = startController(aheadMs);
    await controller.idle();
    expect(cluster.names("certificatesigningrequests")).toEqual(left);
  });
});
