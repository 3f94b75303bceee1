import { expect, test } from "vitest";
import { inner, names } from "../testing/memory-world.ts";
import { isAccessKeyRequest } from "./access-key-request.ts";

const { managementGroup: MANAGEMENT, storageGroup: STORAGE } = names;

/** Group, resource with its subresource, and namespace. */
const isAbout = ([apiGroup = "", combined = "", namespace = ""]: readonly string[]): boolean => {
  const [resource = "", subresource = ""] = combined.split("/");
  return isAccessKeyRequest(inner({ apiGroup, resource, subresource, namespace }), names);
};

test.each([
  [MANAGEMENT, "ownedaccesskeys"],
  [MANAGEMENT, "ownedaccesskeys/rotate"],
  [MANAGEMENT, "users/accesskeys"],
  [MANAGEMENT, "users/credentials"],
  [MANAGEMENT, "users/*"],
  [MANAGEMENT, "teams/accesskeys"],
  [MANAGEMENT, "teams/credentials"],
  [MANAGEMENT, "teams/*"],
  [MANAGEMENT, "*"],
  [STORAGE, "accesskeys"],
  [STORAGE, "accesskeys/status"],
  [STORAGE, "*"],
  ["*", "ownedaccesskeys"],
  ["*", "accesskeys"],
  ["*", "users/accesskeys"],
  ["*", "*"],
])("%s %s is about access keys", (...what) => expect(isAbout(what)).toBe(true));

test.each([
  [MANAGEMENT, "accesskeys"],
  [MANAGEMENT, "users"],
  [MANAGEMENT, "users/status"],
  [MANAGEMENT, "teams"],
  [MANAGEMENT, "projects/accesskeys"],
  [MANAGEMENT, "projects/*"],
  [MANAGEMENT, "virtualclusterinstances/accesskey"],
  [MANAGEMENT, "*", "p-a"],
  [STORAGE, "ownedaccesskeys"],
  [STORAGE, "users/accesskeys"],
  [STORAGE, "secrets"],
  [STORAGE, "*", "p-a"],
  ["*", "users"],
  ["*", "secrets"],
  ["*", "*", "p-a"],
  ["", "ownedaccesskeys"],
  ["", "accesskeys"],
  ["", "users/accesskeys"],
  ["", "*"],
  ["other.postern", "*"],
])("%s %s %s is not", (...what) => expect(isAbout(what)).toBe(false));

test("a path never is", () => {
  const path = { isResourceRequest: false, path: "/ownedaccesskeys" };
  expect(isAccessKeyRequest(inner({ ...path, apiGroup: MANAGEMENT, resource: "ownedaccesskeys" }), names)).toBe(false);
  expect(isAccessKeyRequest(inner({ ...path, apiGroup: STORAGE, resource: "accesskeys" }), names)).toBe(false);
});
