// The findings of the doctor about a running server, over the wire.

import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startPlatform } from "../testing/running-platform.ts";
import { doctorRoute } from "./doctor-route.ts";

it("is for administrators, and names what is wrong with a remedy", async () => {
  await using platform = await startPlatform();
  await platform.create("users", { metadata: { name: "jane" } });
  const { spec } = await platform.create("ownedaccesskeys", { metadata: { name: "janes" }, spec: { user: "jane" } });
  for (const key of [spec.key, ""]) expect((await platform.send({ path: "/doctor", key })).status).toBe(403);
  await chmod(join(platform.directory, "ca.key"), 0o644);
  const { status, body, text } = await platform.send({ path: "/doctor" });
  expect(status).toBe(200);
  expect(body.findings.find(({ check, status }: any) => check === "certificate" && status === "ok")).toBeDefined();
  const found = body.findings.find(({ message }: any) => message.includes("ca.key"));
  expect(found).toMatchObject({ check: "files", status: expect.stringMatching(/warning|error/) });
  expect(found.remedy).toMatch(/chmod/);
  expect(text).not.toContain("PRIVATE KEY");
  expect((await platform.send({ method: "POST", path: "/doctor", body: {} })).status).toBe(405);
});

it("examines once for requests that come together, and again after a failure", async () => {
  let calls = 0;
  let now = 1_000_000;
  const { handle } = doctorRoute({ runtime: { clock: { now: () => now } } as never }, async () => {
    calls++;
    if (calls === 2) throw new Error("the disk is gone");
    return [];
  });
  const context = { request: { method: "GET" } } as never;
  await Promise.all(Array.from({ length: 50 }, () => handle(context)));
  expect(calls).toBe(1);
  now += 11_000;
  await expect(Promise.resolve(handle(context))).rejects.toThrow("the disk is gone");
  expect(await handle(context)).toMatchObject({ status: 200 });
  expect(calls).toBe(3);
});
