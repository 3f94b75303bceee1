import { expect, test } from "vitest";
import { refusedRequest } from "./refused-request.ts";

const IN_GROUP = 'in API group "management.postern"';

test.each([
  [
    `virtualclusterinstances.management.postern "dev" is forbidden: User "ben" cannot get resource "virtualclusterinstances" ${IN_GROUP} in the namespace "p-payments"`,
    { verb: "get", object: "virtualclusterinstances.management.postern/dev", namespace: "p-payments", why: "" },
  ],
  [
    `virtualclusterinstances.management.postern "dev" is forbidden: User "ben" cannot create resource "virtualclusterinstances/kubeconfig" ${IN_GROUP} in the namespace "p-payments": the key has another scope`,
    {
      verb: "create",
      object: "virtualclusterinstances.management.postern/dev/kubeconfig",
      namespace: "p-payments",
      why: "the key has another scope",
    },
  ],
  [
    `users.management.postern is forbidden: User "ben" cannot create resource "users" ${IN_GROUP} at the cluster scope`,
    { verb: "create", object: "users.management.postern/", namespace: "", why: "" },
  ],
  ['forbidden: User "ben" cannot post path "/backup"', { verb: "post", object: "/backup", namespace: "", why: "" }],
])("reads %s", (message, parts) => {
  expect(refusedRequest(message)).toEqual({ user: "ben", ...parts });
});

test("leaves texts that are no such refusal", () => {
  expect(
    refusedRequest('projects "shop" is forbidden: spec.owner grants "use", which you do not have'),
  ).toBeUndefined();
  expect(refusedRequest("the server is busy")).toBeUndefined();
});
