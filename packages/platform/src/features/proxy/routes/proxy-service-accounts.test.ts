import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const ACCOUNTS = `${DEMO}/api/v1/namespaces/default/serviceaccounts`;
const MAPS = `${DEMO}/api/v1/namespaces/default/configmaps`;
const BINDINGS = `${DEMO}/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings`;

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
  await platform.until({ path: MAPS }, ({ status }) => status === 200);
  const viewers = {
    metadata: { name: "robots" },
    subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "default" }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
  };
  expect((await platform.send({ path: BINDINGS, body: viewers })).status).toBe(201);
});
afterAll(() => platform[Symbol.asyncDispose]());

async function robotToken(): Promise<string> {
  await platform.send({ path: ACCOUNTS, body: { metadata: { name: "robot" } } });
  const { status, body } = await platform.send({ path: `${ACCOUNTS}/robot/token`, body: { spec: {} } });
  expect(status).toBe(201);
  return body.status.token;
}

describe("the token of a ServiceAccount over the wire", () => {
  it("has access to its own cluster, within the RBAC there", async () => {
    const token = await robotToken();
    expect((await platform.send({ path: MAPS, key: token })).status).toBe(200);
    const { status, body } = await platform.send({ path: MAPS, key: token, body: { metadata: { name: "x" } } });
    expect(status).toBe(403);
    expect(body.message).toContain('User "system:serviceaccount:default:robot" cannot create resource "configmaps"');
  });

  it("gives no access to the platform or another cluster (security book 5)", async () => {
    const token = await robotToken();
    await platform.create("namespaces/p-default/virtualclusterinstances", { metadata: { name: "other" } });
    const other = "/kubernetes/project/default/virtualcluster/other/api/v1/namespaces/default/configmaps";
    await platform.until({ path: other }, ({ status }) => status === 200);
    for (const path of [other, "/kubernetes/management/apis/management.postern/v1/projects", "/api/v1/secrets"]) {
      expect((await platform.send({ path, key: token })).status, path).toBe(401);
    }
  });

  it("impersonates others only with permission in its cluster's RBAC (security book 29)", async () => {
    const token = await robotToken();
    const asAdmin = { "impersonate-user": "admin", "impersonate-group": "postern:role:cluster-admin" };
    expect((await platform.send({ path: MAPS, key: token, headers: asAdmin })).status).toBe(403);
    const asJane = { "impersonate-user": "jane" };
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const whoIsJane = {
      path: `${DEMO}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      key: token,
      headers: asJane,
      body: review,
    };
    expect((await platform.send(whoIsJane)).status).toBe(403);
    const rbac = `${DEMO}/apis/rbac.authorization.k8s.io/v1`;
    const rules = [{ apiGroups: [""], resources: ["users"], resourceNames: ["jane"], verbs: ["impersonate"] }];
    await platform.send({ path: `${rbac}/clusterroles`, body: { metadata: { name: "as-jane" }, rules } });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "as-jane" };
    const subjects = [{ kind: "ServiceAccount", name: "robot", namespace: "default" }];
    const body = { metadata: { name: "as-jane" }, roleRef, subjects };
    await platform.send({ path: `${rbac}/clusterrolebindings`, body });
    expect((await platform.send(whoIsJane)).body.status.userInfo.username).toBe("jane");
    expect((await platform.send({ path: MAPS, key: token, headers: asAdmin })).status).toBe(403);
    expect((await platform.send({ path: MAPS, key: token, headers: asJane })).status).toBe(403);
  });

  it("loses its watches when the ServiceAccount is deleted (security book 15)", async () => {
    const token = await robotToken();
    const watch = await platform.open({ path: `${MAPS}?watch=1`, key: token });
    await platform.send({ method: "DELETE", path: `${ACCOUNTS}/robot` });
    // Without the cut this would last for half an hour at least.
    await watch.ended;
    expect(watch.text()).not.toContain("timeout");
    expect((await platform.send({ path: MAPS, key: token })).status).toBe(401);
  });
});
