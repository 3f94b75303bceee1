// The requests that Entra ID and Okta publish, in their order: recorded in testdata/, each with what the directory expects.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

type Exchange = {
  readonly title: string;
  readonly request: { readonly method: string; readonly path: string; readonly body?: object };
  readonly status: number;
  /** Part of the answer. */
  readonly body?: object;
  /** Paths that the answer has not. */
  readonly absent?: readonly string[];
  /** The name under which later requests find the id of the answer. */
  readonly save?: string;
};
type Recorded = { readonly provider: string; readonly exchanges: readonly Exchange[] };

const readRecorded = async (name: string): Promise<Recorded> =>
  JSON.parse(await readFile(new URL(`testdata/${name}`, import.meta.url), "utf8"));

describe.each(await Promise.all(["scim-entra.json", "scim-okta.json"].map(readRecorded)))(
  "$provider",
  ({ provider, exchanges }) => {
    let platform: RunningPlatform;
    let key: string;
    const names = new Map([["password", randomBytes(12).toString("hex")]]);
    const filled = <T>(value: T): T =>
      JSON.parse(JSON.stringify(value).replaceAll(/\{(\w+)\}/g, (all, name: string) => names.get(name) ?? all));

    beforeAll(async () => {
      platform = await startPlatform({ "audit-log-mode": "blocking" });
      await platform.create("users", { metadata: { name: "directory" }, spec: { kind: "Bot" } });
      await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        metadata: { name: "directory" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "directory" }],
      });
      const spec = { user: "directory", scope: { roles: [{ role: "scim" }] } };
      key = (await platform.create("ownedaccesskeys", { metadata: { name: "scim" }, spec })).spec.key;
    });
    afterAll(() => platform?.[Symbol.asyncDispose]());

    it.each(exchanges)("$title", async ({ request, status, body, absent = [], save }) => {
      const { method, path, body: sent } = filled(request);
      const answer = await platform.send({
        method,
        path: encodeURI(decodeURI(`/scim/v2/${path}`)),
        key,
        body: sent === undefined ? undefined : JSON.stringify(sent),
        headers: { "content-type": "application/scim+json; charset=utf-8", accept: "application/scim+json" },
      });
      expect([answer.status, answer.status === 204 ? answer.text : ""]).toEqual([status, ""]);
      if (save !== undefined) names.set(save, answer.body.id);
      if (body !== undefined) expect(answer.body).toMatchObject(filled(body));
      for (const place of absent) expect(answer.body).not.toHaveProperty(place);
      if (status < 300 && status !== 204) expect(answer.headers["content-type"]).toContain("application/scim+json");
    });

    it.runIf(provider === "Okta")("leaves the placeholder of a password nowhere", async () => {
      const texts = await Promise.all(
        ["audit.log", "server.log"].map((name) => readFile(join(platform.directory, name), "utf8")),
      );
      for (const text of [...texts, (await platform.send({ path: "users" })).text])
        expect(text).not.toContain(names.get("password"));
    });
  },
);
