import { expect, it } from "vitest";
import * as resources from "../../api/resources.ts";
import { named } from "../../texts/text.tsx";
import { objectOf, outcomeOf, placeOf, questionOf, recordWords } from "./record-words.ts";

it.each([
  ["create", "ownedaccesskeys.management.postern/ci", "Create access key ci"],
  ["patch", "projects.management.postern/shop", "Change project shop"],
  ["create", "ownedaccesskeys.management.postern/ci/rotate", "Rotate access key ci"],
  [
    "create",
    "virtualclusterinstances.management.postern/dev/kubeconfig -n p-shop",
    "Get a kubeconfig for virtual cluster dev",
  ],
  ["list", "users.management.postern", "List users"],
  ["create", "clusterrolebindings.rbac.authorization.k8s.io/a", "Create ClusterRoleBinding a"],
  ["create", "pods/web-0/exec -n default", "Run a command in pods web-0"],
  ["create", "widgets.example.com/a/fill -n default", "create fill of widgets a"],
  ["post", "/login/session", "Sign in"],
  ["post", "/anything", "POST /anything"],
])("%s %s is: %s", (verb, object, words) => {
  expect(recordWords({ verb, object })).toBe(words);
});

it("reads the object as it is written", () => {
  expect(objectOf({ object: "deployments.apps/web/scale -n shop" })).toEqual({
    resource: "deployments",
    apiGroup: "apps",
    name: "web",
    subresource: "scale",
    namespace: "shop",
  });
  expect(objectOf({ object: "/metrics" })).toBeUndefined();
});

it("has an outcome for every code, and the page of a cluster", () => {
  expect([0, 201, 401, 403, 409, 429, 500].map((code) => outcomeOf({ code }).tone)).toEqual([
    "warn",
    "good",
    "bad",
    "bad",
    "warn",
    "warn",
    "bad",
  ]);
  expect(placeOf("virtualcluster/shop/dev")).toEqual({ title: "shop / dev", to: "/clusters/shop/dev" });
  expect(placeOf("")).toBeUndefined();
});

it("asks Check access about a refused request for an object of the platform, and about no other", () => {
  const refused = {
    ...{ time: "", key: "login-1", keyID: "", origins: [], sourceIP: "", auditID: "", cluster: "", code: 403 },
    ...{ user: "ben", verb: "delete", object: "virtualclusterinstances.management.postern/prod -n p-payments" },
  };
  const question = {
    user: "ben",
    verb: "delete",
    resource: "virtualclusterinstances",
    name: "prod",
    project: "payments",
  };
  expect(questionOf(refused)).toEqual(question);
  expect(questionOf({ ...refused, user: "admin", impersonatedUser: "ben" })).toEqual(question);
  expect(questionOf({ ...refused, object: "users.management.postern", verb: "list" })).toEqual({
    ...{ user: "ben", verb: "list", resource: "users" },
  });
  const other = [{ code: 404 }, { cluster: "virtualcluster/payments/prod" }, { object: "pods/a -n p-payments" }];
  for (const part of [...other, { object: "/metrics" }, { user: "system:serviceaccount:p-payments:ci" }])
    expect(questionOf({ ...refused, ...part })).toBeUndefined();
});

it("has words for each kind that the console shows", () => {
  const shown = Object.values(resources).flatMap((each) =>
    typeof each === "object" && each.group !== "" ? [each.resource] : [],
  );
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.filter((resource) => named("kind", resource) === resource)).toEqual([]);
});

it.each([
  [403, "Refused 403"],
  [404, "Failed 404"],
  [500, "Failed 500"],
])("calls %i refused only where access was refused", (code, words) => {
  expect(outcomeOf({ code }).words).toBe(words);
});
