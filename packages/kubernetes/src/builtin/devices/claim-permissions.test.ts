// Texts are those of a kube-apiserver 1.36.2.

import { createTestContext } from "@postern/apiserver/testing/test-context";
import { expect, test } from "vitest";
import { requestedAdminFaults, statusPermissionFaults } from "./claim-permissions.ts";
import type { ResourceClaimStatus } from "./device-objects.ts";

const allocation = {
  devices: { results: [{ request: "r", driver: "d", pool: "p", device: "a" }] },
  nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }] },
};
const device = { driver: "d", pool: "p", device: "a" };

/** The texts of refused changes, and the questions that an authorizer was asked. */
async function ask(
  next: ResourceClaimStatus,
  old: ResourceClaimStatus,
  {
    allowed = [],
    user = { name: "dev", groups: [] },
  }: { readonly allowed?: readonly string[]; readonly user?: any } = {},
) {
  const asked: string[] = [];
  const context = createTestContext({
    method: "PATCH",
    url: "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/perm/status",
    user,
  });
  const faults = await statusPermissionFaults(
    next,
    old,
    {
      authorizer: {
        authorize({ verb, resource, subresource, namespace, name }) {
          const question = `${verb} ${resource}/${subresource} ${namespace}/${name}`;
          asked.push(question);
          return { verdict: allowed.includes(question) ? "allow" : "no-opinion", reason: "" };
        },
      },
      findNamespace: async () => undefined,
    },
    context,
  );
  return { asked, texts: faults.map(({ field, message }) => `${field}: ${message}`) };
}

test("allocating devices needs the permission to bind claims of the whole cluster", async () => {
  expect(await ask({ allocation }, {})).toEqual({
    asked: ["patch resourceclaims/binding /"],
    texts: [
      'status.allocation: Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: User "dev" cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
    ],
  });
  expect((await ask({ allocation }, {}, { allowed: ["patch resourceclaims/binding /"] })).texts).toEqual([]);
  expect((await ask({ allocation, reservedFor: [{ uid: "1" }] }, { allocation })).texts).toHaveLength(1);
});

test("a change of nothing needs no permission", async () => {
  const status = { allocation, reservedFor: [{ uid: "1" }], devices: [device] };
  expect(await ask(status, structuredClone(status))).toEqual({ asked: [], texts: [] });
});

test("the status of a device needs a permission for its driver", async () => {
  expect(await ask({ allocation, devices: [device] }, { allocation })).toEqual({
    asked: ["arbitrary-node:patch resourceclaims/driver default/d"],
    texts: [
      'status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:patch]" permission: resourceclaims.resource.k8s.io "d" is forbidden: User "dev" cannot arbitrary-node:patch resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"',
    ],
  });
  expect((await ask({ allocation }, { allocation, devices: [device] })).texts).toHaveLength(1);
});

test("a driver on the node of the claim may have the weaker permission", async () => {
  const extra = { "authentication.kubernetes.io/node-name": ["n"] };
  const user = { name: "system:serviceaccount:drivers:gpu", groups: [], extra };
  const near = "associated-node:patch resourceclaims/driver default/d";
  const change = [{ allocation, devices: [device] }, { allocation }] as const;
  expect(await ask(...change, { user, allowed: [near] })).toEqual({ asked: [near], texts: [] });
  const refused = await ask(...change, { user });
  expect(refused.asked).toEqual([near, "arbitrary-node:patch resourceclaims/driver default/d"]);
  expect(refused.texts[0]).toContain('verb="[associated-node:patch arbitrary-node:patch]" permission');
  expect(refused.texts[0]).toContain("cannot associated-node:patch resource");
  const elsewhere = { ...user, extra: { "authentication.kubernetes.io/node-name": ["m"] } };
  expect((await ask(...change, { user: elsewhere, allowed: [near] })).texts).toHaveLength(1);
});

test("administrative access needs a label of the namespace", async () => {
  const claim = { requests: [{ name: "r" }, { name: "s", exactly: { deviceClassName: "c", adminAccess: true } }] };
  const context = createTestContext({
    method: "POST",
    url: "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
  });
  const faultsWith = (labels: { readonly [name: string]: string }) =>
    requestedAdminFaults(
      claim,
      "default",
      {
        authorizer: { authorize: () => ({ verdict: "no-opinion", reason: "" }) },
        findNamespace: async () => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: "default", labels } }),
      },
      context,
    );
  expect(await faultsWith({})).toMatchObject([{ field: "spec.devices.requests[1].adminAccess" }]);
  expect(await faultsWith({ "resource.kubernetes.io/admin-access": "true" })).toEqual([]);
});
