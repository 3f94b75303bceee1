import { expect, test } from "vitest";
import { reasonWords } from "./reason-words.ts";

test.each([
  ["is in spec.extraAccessRules[0] of p-shop/dev", /rule 1 of “Roles inside the cluster” of shop \/ dev/],
  ["is in spec.access[2] of p-shop/dev", /entry 3 of the access list of shop \/ dev/],
  ["has ClusterRole postern:project-reader in project shop", /“Project reader” in project shop/],
  ["has ClusterRole deployer in project shop", /“deployer” in project shop/],
  ["owns p-shop/dev", /^Owner of shop \/ dev\.$/],
  ["may use an instance of project shop", /project shop/],
  [
    'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "postern:admin" to Group "postern:admins"',
    /“Administrator” by the role binding b, for postern:admins/,
  ],
  ["lists show what the caller may get", /^Lists show what the caller may get\.$/],
  ["out-of-scope", /^Nothing in its scope/],
  ["", /^$/],
])("%s", (reason, words) => {
  expect(reasonWords(reason)).toMatch(words);
  expect(reasonWords(reason)).not.toContain("spec.");
});
