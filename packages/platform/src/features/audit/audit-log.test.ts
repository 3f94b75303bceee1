import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHAIN_START, createChainReader } from "@postern/apimachinery/audit/audit-chain";
import { sha256 } from "@postern/apiserver/audit/audit-chain";
import { describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

const DEMO = "namespaces/p-default/virtualclusterinstances/demo";
const CREDENTIAL = "authentication.kubernetes.io/credential-id";
const ISSUED = "authentication.kubernetes.io/issued-credential-id";
const REFUSAL = "authentication.kubernetes.io/refusal";

const linesOf = async (platform: RunningPlatform) =>
  (await readFile(join(platform.directory, "audit.log"), "utf8")).split("\n").slice(0, -1);
const eventsOf = async (platform: RunningPlatform) => (await linesOf(platform)).map((line) => JSON.parse(line));

const create = (platform: RunningPlatform, name: string, spec: object = {}) =>
  platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: { name }, spec } });

describe("the audit log", () => {
  it("names the credential at its issue and at every use, and why one was refused", async () => {
    await using platform = await startPlatform({ "audit-log-mode": "blocking" });
    const { spec } = (await create(platform, "k")).body;
    const id = spec.key.split("_")[1];
    await platform.send({ path: "projects", key: spec.key });
    const kubeConfig = await platform.send({
      method: "POST",
      path: `${DEMO}/kubeconfig`,
      key: spec.key,
      body: { spec: {} },
    });
    const token = /token: "?([\w]+)/.exec(kubeConfig.body.status.kubeConfig)?.[1] ?? "";
    const rotated = await platform.send({
      method: "POST",
      path: "ownedaccesskeys/k/rotate",
      body: { spec: { nonce: "n" } },
    });
    const refused = await platform.send({ path: "projects", key: spec.key });
    expect(refused.status).toBe(401);
    expect(refused.text).not.toContain("rotation");
    const unknown = await platform.send({ path: "projects", key: "pst_unknown" });
    expect(unknown.text).toBe(refused.text);

    const events = await eventsOf(platform);
    const found = (verb: string, resource: string, subresource?: string) =>
      events.findLast(
        ({ verb: v, objectRef }: any) =>
          v === verb && objectRef?.resource === resource && objectRef.subresource === subresource,
      )?.annotations;
    expect(found("create", "ownedaccesskeys")?.[ISSUED]).toBe(id);
    expect(found("create", "virtualclusterinstances", "kubeconfig")).toMatchObject({
      [CREDENTIAL]: id,
      [ISSUED]: token.split("_")[1],
    });
    expect(found("create", "ownedaccesskeys", "rotate")?.[ISSUED]).toBe(rotated.body.status.keyID);
    const refusals = events.filter(({ annotations }: any) => annotations[REFUSAL] !== undefined);
    expect(refusals.map(({ annotations }: any) => [annotations[REFUSAL], annotations[CREDENTIAL]])).toEqual([
      ["replaced by a rotation", id],
      ["unknown", undefined],
    ]);
    const text = (await linesOf(platform)).join("\n");
    for (const secret of [spec.key, token, rotated.body.status.key]) expect(text).not.toContain(secret);
  });

  it("is a chain", async () => {
    await using platform = await startPlatform({ "audit-log-mode": "blocking" });
    await Promise.all(Array.from({ length: 50 }, () => platform.send({ path: "projects" })));
    const reader = createChainReader(sha256, CHAIN_START);
    for (const line of await linesOf(platform)) reader.read(line);
    const { faults, lines } = reader.report();
    expect(faults).toEqual([]);
    expect(lines).toBeGreaterThanOrEqual(50);
  });

  it("follows the policy file, but for what hands out credentials", async () => {
    const policy = join(tmpdir(), `policy-${process.pid}.yaml`);
    await writeFile(
      policy,
      `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Request, verbs: [create], resources: [{group: management.postern}]}
  - {level: None}
`,
    );
    await using platform = await startPlatform({ "audit-log-mode": "blocking", "audit-policy-file": policy });
    await rm(policy);
    await platform.send({ path: "projects" });
    const key = "my-own-secret-value-of-32-characters";
    await create(platform, "k", { key });
    await platform.send({
      method: "POST",
      path: "users",
      body: { metadata: { name: "jane" }, spec: { email: "j@x" } },
    });
    await platform.send({ method: "PATCH", path: "ownedaccesskeys/k", body: { spec: { key: `${key}-2` } } });
    const events = await eventsOf(platform);
    expect(events.map(({ verb, objectRef, level }: any) => [verb, objectRef.resource, level])).toEqual([
      ["create", "ownedaccesskeys", "Request"],
      ["create", "users", "Request"],
      ["patch", "ownedaccesskeys", "Metadata"],
    ]);
    expect(events.map(({ requestObject }: any) => requestObject?.spec)).toEqual([
      { key: "REDACTED" },
      { email: "j@x" },
      undefined,
    ]);
    expect((await linesOf(platform)).join("\n")).not.toContain(key);
  });
});
