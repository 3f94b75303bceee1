import type { AuthorizationAttributes } from "@postern/apiserver/authorization/authorizer";
import { readPolicyRules } from "@postern/apiserver/authorization/rbac/policy-rule";
import { expect, it } from "vitest";
import { rulesDeniedOutside } from "./rules-denied-outside.ts";

const user = { name: "al", groups: [] };
const read = (...resources: readonly string[]) => ({ verbs: ["get"], apiGroups: [""], resources });

async function closed(
  opens: (asked: AuthorizationAttributes) => boolean,
  rules: readonly object[],
  namespace = "ns1",
): Promise<readonly string[]> {
  const outerAuthorizer = {
    authorize: (asked: AuthorizationAttributes) => ({
      verdict: opens(asked) ? ("allow" as const) : ("deny" as const),
      reason: "",
    }),
  };
  const pieces = await rulesDeniedOutside(
    { outerAuthorizer, user, credential: undefined },
    namespace,
    readPolicyRules([...rules] as never),
  );
  return pieces.map(({ verbs, resources, nonResourceURLs, resourceNames }) =>
    [...verbs, ...resources, ...nonResourceURLs, ...resourceNames].join(" "),
  );
}

it("lets everything be given where the surface was reached directly", async () => {
  expect(await rulesDeniedOutside({ user, credential: undefined }, "ns1", readPolicyRules([read("pods")]))).toEqual([]);
});

it("asks about each piece, as the caller and with its credential", async () => {
  const asked: AuthorizationAttributes[] = [];
  const credential = { id: "k1" };
  const outerAuthorizer = {
    authorize: (attributes: AuthorizationAttributes) => {
      asked.push(attributes);
      return { verdict: "allow" as const, reason: "" };
    },
  };
  const rules = [
    { ...read("pods/log"), resourceNames: ["a"] },
    { verbs: ["get"], nonResourceURLs: ["/x/*"] },
  ];
  expect(await rulesDeniedOutside({ outerAuthorizer, user, credential }, "ns1", readPolicyRules(rules))).toEqual([]);
  const base = { user, credential, verb: "get", apiGroup: "", apiVersion: "*" };
  expect(asked).toEqual([
    {
      ...base,
      isResourceRequest: true,
      resource: "pods",
      subresource: "log",
      namespace: "ns1",
      name: "a",
      path: "",
    },
    { ...base, isResourceRequest: false, resource: "", subresource: "", namespace: "", name: "", path: "/x/\0" },
  ]);
});

it("reports the denied pieces, and only those", async () => {
  expect(await closed(({ resource }) => resource === "pods", [read("pods", "secrets"), read("events")])).toEqual([
    "get secrets",
    "get events",
  ]);
});

it("allows a grant for all names if all names are granted", async () => {
  expect(await closed(({ name }) => name === "", [read("pods")])).toEqual(["get pods"]);
  expect(await closed(({ name }) => name === "a", [{ ...read("pods"), resourceNames: ["a"] }])).toEqual([]);
});

it("allows a grant in a namespace if it is granted in the whole cluster", async () => {
  const inOne = ({ namespace }: AuthorizationAttributes): boolean => namespace === "";
  expect(await closed(inOne, [read("pods")], "")).toEqual(["get pods"]);
  expect(await closed(() => true, [read("pods")], "")).toEqual([]);
});

it("allows a path with a wildcard if everything below it is granted", async () => {
  const web = { verbs: ["get"], nonResourceURLs: ["/web/*", "/web"] };
  expect(await closed(({ path }) => path === "/web", [web])).toEqual(["get /web/*"]);
  expect(await closed(({ path }) => path.startsWith("/web"), [web])).toEqual([]);
});

it("asks two questions about a role of thousands of rules where the credential is not limited", async () => {
  let questions = 0;
  const opens = () => {
    questions++;
    return true;
  };
  expect(await closed(opens, numberedRules(3_000))).toEqual([]);
  const ofFullAuthority = questions;
  questions = 0;
  expect(await closed(opens, numberedRules(30))).toEqual([]);
  expect(questions).toBe(ofFullAuthority);
  expect(questions).toBeLessThan(10);
});

it("still reports the pieces of a long role that a limited credential does not open", async () => {
  const opens = ({ name }: AuthorizationAttributes) => name !== "n7" && name !== "\0";
  expect(await closed(opens, numberedRules(3_000))).toEqual(["get secrets n7"]);
});

const numberedRules = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...read("secrets"), resourceNames: [`n${index}`] }));
