import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

const SECRETS = "/kubernetes/project/default/virtualcluster/demo/api/v1/secrets";
const WHO = "/kubernetes/project/default/virtualcluster/demo/apis/authentication.k8s.io/v1/selfsubjectreviews";
const AS_ADMIN = { "impersonate-user": "admin", "impersonate-group": "postern:admins" };

let platform: RunningPlatform;
let malloryKey = "";
beforeAll(async () => {
  platform = await startPlatform();
  await platform.until({ path: SECRETS }, ({ status }) => status === 200);
  await platform.create("users", { metadata: { name: "mallory" } });
  malloryKey = (await platform.create("ownedaccesskeys", { metadata: { name: "mallory" }, spec: { user: "mallory" } }))
    .spec.key;
});
afterAll(() => platform[Symbol.asyncDispose]());

describe("impersonation through the proxy (security book 29)", () => {
  it("is refused without the permission to impersonate, and to anonymous callers", async () => {
    expect((await platform.send({ path: SECRETS, key: malloryKey })).status).toBe(403);
    const attempt = await platform.send({ path: SECRETS, key: malloryKey, headers: AS_ADMIN });
    expect(attempt.status).toBe(403);
    expect(attempt.body.message).toContain("impersonate");
    expect((await platform.send({ path: SECRETS, key: "", headers: AS_ADMIN })).status).toBe(403);
  });

  it("is available to callers that may impersonate in the management API, with that user's permissions", async () => {
    const asMallory = { "impersonate-user": "mallory" };
    expect((await platform.send({ path: SECRETS, headers: asMallory })).status).toBe(403);
    expect((await platform.send({ path: SECRETS })).status).toBe(200);
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { body: answer } = await platform.send({ path: WHO, body, headers: AS_ADMIN });
    expect(answer.status.userInfo.username).toBe("admin");
  });
});
