import { expect, it } from "vitest";
import type { AuditEvent } from "./audit-event.ts";
import { withBoundedTexts } from "./bounded-texts.ts";

const EVENT: AuditEvent = {
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID: "1",
  stage: "ResponseComplete",
  requestURI: "/api/v1/secrets",
  verb: "list",
  user: { username: "system:anonymous", groups: ["system:unauthenticated"] },
  sourceIPs: ["127.0.0.1"],
  requestReceivedTimestamp: "",
  stageTimestamp: "",
};
const LONG = "x".repeat(130_000);
const MANY = Array.from({ length: 100_000 }, (_, at) => `group-${at}`);
const EMPTY = Array.from({ length: 100_000 }, () => "");

it("leaves an event alone that is not too long", () => {
  expect(withBoundedTexts(EVENT)).toBe(EVENT);
});

it.each<[string, Partial<AuditEvent>]>([
  ["the URI, with its selectors", { requestURI: `/api/v1/secrets?fieldSelector=metadata.name%3D${LONG}` }],
  ["a verb", { verb: LONG }],
  ["the name of an object", { objectRef: { resource: "secrets", name: LONG } }],
  ["the namespace of an object", { objectRef: { resource: "secrets", namespace: LONG } }],
  ["a resource and subresource", { objectRef: { resource: LONG, subresource: LONG } }],
  ["the group of a resource", { objectRef: { apiGroup: LONG, apiVersion: LONG } }],
  ["the name of a user", { user: { username: LONG } }],
  ["the groups of a user", { user: { username: "u", groups: MANY } }],
  ["empty groups", { user: { username: "u", groups: EMPTY } }],
  ["long groups", { user: { username: "u", groups: MANY.map(() => LONG.slice(0, 2_000)) } }],
  ["extras of a user", { impersonatedUser: { username: "u", extra: { [LONG]: [LONG], other: MANY } } }],
  ["many extras", { impersonatedUser: { username: "u", extra: Object.fromEntries(MANY.map((key) => [key, []])) } }],
  ["a user agent", { userAgent: LONG }],
  ["addresses", { sourceIPs: MANY }],
  ["a message", { responseStatus: { message: LONG, code: 403 } }],
  ["causes", { responseStatus: { details: { causes: MANY.map((message) => ({ message })) } } }],
  ["annotations", { annotations: { a: LONG, b: LONG } }],
])("cuts %s, and says so", (_, long) => {
  const event = withBoundedTexts({ ...EVENT, ...long });
  expect(JSON.stringify(event).length).toBeLessThan(64 * 1024);
  expect(event.annotations?.["audit.k8s.io/truncated"]).toBe("true");
  expect(JSON.stringify(event)).toMatch(/…/);
  expect(event).toMatchObject({ auditID: "1", level: "Metadata" });
});

it("all of it together stays small", () => {
  const event = withBoundedTexts({
    ...EVENT,
    requestURI: LONG,
    verb: LONG,
    userAgent: LONG,
    user: { username: LONG, groups: MANY, extra: { [LONG]: MANY } },
    impersonatedUser: { username: LONG, groups: MANY },
    objectRef: { resource: LONG, name: LONG, namespace: LONG, subresource: LONG },
    responseStatus: { message: LONG },
    annotations: { [LONG]: LONG },
  });
  expect(JSON.stringify(event).length).toBeLessThan(100 * 1024);
});
