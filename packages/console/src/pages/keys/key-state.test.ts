import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { expect, it } from "vitest";
import { attentionOf, filterKeys, keyState, momentOf } from "./key-state.ts";

const NOW = Date.parse("2026-06-15T12:00:00Z");
const MOMENT = momentOf(NOW);
const DAY = 86_400_000;
const at = (days: number): string => new Date(NOW + days * DAY).toISOString();
const refusedFor = (reason: string) => ({ conditions: [{ type: "Ready", status: "False", reason }] });
const key = (
  name: string,
  spec: OwnedAccessKey["spec"] = {},
  status: OwnedAccessKey["status"] = {},
  age = 1,
): OwnedAccessKey => ({
  apiVersion: "management.postern/v1",
  kind: "OwnedAccessKey",
  metadata: { name, creationTimestamp: at(-age) },
  spec: { user: "jane", ...spec },
  status,
});

const deleted = (name: string, days: number, spec: OwnedAccessKey["spec"] = {}): OwnedAccessKey => {
  const object = key(name, spec);
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: at(days), deletionGracePeriodSeconds: 60 } };
};

it.each([
  ["good", key("a", {}, { expirationTimestamp: at(90) }), "Ready", undefined],
  ["without an end", key("a"), "Ready", "permanent"],
  ["the administrator's of the first start", key("admin", { user: "admin" }), "Ready", "first"],
  ["called as that of the first start, of another user", key("admin"), "Ready", "permanent"],
  [
    "without an end or a use, both null",
    key("a", {}, { expirationTimestamp: null, lastActivity: null }),
    "Ready",
    "permanent",
  ],
  ["about to end", key("a", { ttl: 30 * 86_400 }, { expirationTimestamp: at(3) }, 27), "ExpiresSoon", "ending"],
  ["made for a day", key("a", { ttl: 86_400 }, { expirationTimestamp: at(0.9) }, 0.1), "Ready", undefined],
  [
    "made for a day, and almost over",
    key("a", { ttl: 86_400 }, { expirationTimestamp: at(0.1) }, 0.9),
    "ExpiresSoon",
    undefined,
  ],
  [
    "over, though the condition does not say so yet",
    key("a", {}, { expirationTimestamp: at(-1) }),
    "Expired",
    undefined,
  ],
  ["disabled, though the condition does not say so yet", key("a", { disabled: true }), "Disabled", undefined],
  ["reported", key("a", { disabled: true }, refusedFor("Leaked")), "Leaked", "refused"],
  ["disabled", key("a", { disabled: true }, refusedFor("Disabled")), "Disabled", undefined],
  ["in its grace period", deleted("a", 1), "Terminating", undefined],
  ["in its grace period, and disabled", deleted("a", 1, { disabled: true }), "Disabled", undefined],
  ["deleted, and held by finalizers", deleted("a", -1), "Deleting", undefined],
  ["not used for long", key("a", {}, { lastActivity: at(-40) }), "Ready", "unused"],
  ["of a session that is not used", key("a", { type: "Login" }, { lastActivity: at(-40) }), "Ready", undefined],
])("a key that is %s", (_what, given, state, attention) => {
  expect([keyState(given, MOMENT).id, attentionOf(given, MOMENT)]).toEqual([state, attention]);
});

it("finds keys by text, state and owner, and leaves sessions and kubeconfigs out", () => {
  const scope = { virtualClusters: [{ project: "default", virtualCluster: "demo" }] };
  const token = (name: string, spec: object, status?: object) => {
    const { metadata, ...rest } = key(name, { type: "Other", scope, ...spec }, status);
    return { ...rest, metadata: { ...metadata, generateName: "default-demo-" } };
  };
  const keys = [
    key("ci", { displayName: "Deploys the Shop" }),
    key("old", { disabled: true }, refusedFor("Disabled")),
    key("of-team", { user: "", team: "payments" }, { lastActivity: at(-1) }),
    key("browser", { type: "Login" }),
    token("default-demo-x", {}),
    key("generator-fleet7x", { type: "Other" }),
    token("default-demo-y", {}, refusedFor("Leaked")),
  ];
  const found = (filter: object): readonly string[] =>
    filterKeys(keys, { text: "", state: "", owner: "", kind: "key" as const, ...filter }, MOMENT).map(
      ({ metadata }) => metadata.name ?? "",
    );
  expect(found({})).toEqual(["ci", "old", "of-team"]);
  expect(found({ kind: "session" })).toEqual(["browser"]);
  expect(found({ kind: "kubeconfig" })).toEqual(["default-demo-x", "generator-fleet7x", "default-demo-y"]);
  expect(found({ state: "attention" })).toEqual(["ci", "of-team", "default-demo-y"]);
  expect(found({ text: " shop" })).toEqual(["ci"]);
  expect(found({ text: "payments" })).toEqual(["of-team"]);
  expect(found({ state: "refused" })).toEqual(["old"]);
  expect(found({ state: "unused" })).toEqual(["ci", "old"]);
  expect(found({ state: "permanent" })).toEqual(["ci", "of-team"]);
  expect(found({ owner: "team/payments" })).toEqual(["of-team"]);
});
