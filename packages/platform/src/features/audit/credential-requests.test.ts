import { randomBytes } from "node:crypto";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyRedaction, issuesCredentials } from "./credential-requests.ts";

const GROUPS = { managementGroup: "management.postern", storageGroup: "storage.postern" };
const API = "/apis/management.postern/v1";
const infoOf = (path: string) => resolveRequestInfo("POST", path, new URLSearchParams());

describe("tokens that are tested and exchanged", () => {
  const redactionOf = bodyRedaction(GROUPS, { find: () => false });
  const paths = [
    `${API}/clustertrustrules/main/test`,
    `${API}/namespaces/p-team/trustrules/main/test`,
    "/oauth/token",
    "/login/session",
  ];

  it.each(paths)("are removed from bodies, at any place and in any form: %s", (path) => {
    const keep = redactionOf(infoOf(path));
    const token = fc.oneof(fc.string(), fc.constant(randomBytes(64).toString("base64url")));
    fc.assert(
      fc.property(token, fc.jsonValue(), (text, other) => {
        const body = { spec: { token: text, [text]: other }, other: [text] } as never;
        expect(keep(body)).toBeUndefined();
      }),
    );
  });

  it("are always recorded where they bring a key", () => {
    expect(issuesCredentials(infoOf("/oauth/token"), GROUPS)).toBe(true);
    expect(issuesCredentials(infoOf(`${API}/clustertrustrules/main/test`), GROUPS)).toBe(false);
    expect(issuesCredentials(infoOf(`${API}/namespaces/p-team/kubeconfiggenerators`), GROUPS)).toBe(true);
    const read = (path: string) => issuesCredentials(resolveRequestInfo("GET", path, new URLSearchParams()), GROUPS);
    for (const path of ["/login/key", "/login/confirm", "/login/session"]) {
      expect([path, issuesCredentials(infoOf(path), GROUPS), read(path)]).toEqual([path, true, false]);
    }
    expect([read("/login/callback/example"), read("/login"), read("/login/start")]).toEqual([true, false, false]);
  });
});
