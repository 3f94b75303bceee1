// The administrator of a virtual cluster names its policies, which annotate the audit events of the platform: never with what the server itself says there.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import { CONFIG_MAPS, POLL, pathOf } from "./testing/threads/clusters.ts";

const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const FORGED: readonly (readonly [policy: string, ...keys: string[]])[] = [
  ["access-key", "origins", "owner", "presented-id"],
  ["access-request", "name"],
  ["audit-chain", "follows-torn-line", "hmac-sha256"],
  ["audit-log", "omitted-events", "unwritten-events"],
  ["authentication.kubernetes.io", "issued-credential-id", "refusal"],
  ["front-proxy", "name"],
  ["kubeconfig-generator", "name"],
  // The default of platform.domain.
  ["postern", "sign-in-user", "trust-rule", "revoked-credentials"],
  ["proxy", "other"],
  ["tenant.example.com", "note"],
];

it.each([
  ["in a thread of its own", []],
  ["in the thread that serves requests", ["--cluster-threads", "0"]],
])(
  "a policy of a cluster %s annotates events below its own name, and below no name of the server",
  async (_, flags) => {
    await using server = await startOwnServer(flags);
    const [send, key] = [await httpClient(server), await adminKey(server)];
    const create = async (path: string, body: object) => {
      const made = await send(pathOf("demo", path), { key, body });
      expect(made.status, made.text).toBe(201);
    };
    for (const [name, ...keys] of FORGED) {
      const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
      await create(`${ADMISSION}/validatingadmissionpolicies`, {
        metadata: { name },
        spec: {
          matchConstraints: { resourceRules: [rule] },
          auditAnnotations: keys.map((key) => ({ key, valueExpression: "'forged'" })),
        },
      });
      await create(`${ADMISSION}/validatingadmissionpolicybindings`, {
        metadata: { name },
        spec: { policyName: name, validationActions: ["Audit"] },
      });
    }
    let made = 0;
    const forged = async (): Promise<readonly string[]> => {
      await create(CONFIG_MAPS, { metadata: { name: `m${++made}` } });
      const text = await readFile(join(server.directory, "data", "audit.log"), "utf8");
      const events = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
      const { annotations } = events.findLast(
        ({ objectRef, verb }) => objectRef?.resource === "configmaps" && verb === "create",
      );
      return Object.keys(annotations).filter((name) => annotations[name] === "forged");
    };
    await expect.poll(forged, POLL).toContain("tenant.example.com/note");
    expect(await forged()).toEqual(["tenant.example.com/note"]);
  },
);
