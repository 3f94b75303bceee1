import { createPlatformNames } from "@postern/api/platform-names";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { expect, it } from "vitest";
import { createUrgentCheck } from "./rate-limits.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const isUrgent = createUrgentCheck(names);
const READ = { apiGroup: "", resource: "configmaps", verb: "get", subresource: "" };
/** The check reads nothing else. */
const contextWith = (groups: readonly string[], id: string, info: object = READ) =>
  ({ user: { name: "jane", groups }, credential: { id }, info }) as unknown as RequestContext;

it.each([
  ["an administrator of the platform", contextWith([names.adminsGroup], "abcdefghij")],
  [
    "a member who deletes an access key",
    contextWith([], "abcdefghij", {
      apiGroup: names.managementGroup,
      resource: "ownedaccesskeys",
      verb: "delete",
      subresource: "",
    }),
  ],
])("%s has reserved places", (_who, context) => {
  expect(isUrgent(context)).toBe(true);
});

it.each([
  ["a member who reads", contextWith([names.userGroup("jane")], "abcdefghij")],
  ["a certificate of a virtual cluster that names administrators", contextWith([names.adminsGroup], "certificate:ab")],
  ["a ServiceAccount of one", contextWith([names.adminsGroup], "serviceaccount:uid:token")],
])("%s has none", (_who, context) => {
  expect(isUrgent(context)).toBe(false);
});
