// An event that counts as plain is the one that looking through all of it gives.

import fc from "fast-check";
import { expect, it } from "vitest";
import { redactedTexts } from "../request/credential-redaction.ts";
import type { AuditEvent } from "./audit-event.ts";
import { withBoundedTexts } from "./bounded-texts.ts";
import { isPlain } from "./plain-event.ts";

const SECRET = "a-value-that-was-chosen-for-a-key";
const redact = (text: string): string => text.replaceAll(SECRET, "<redacted>");

const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("", "get", "default", "/api/v1/secrets?limit=5", "x".repeat(1_024)) },
  { weight: 1, arbitrary: fc.constantFrom(SECRET, `/a/${SECRET}?b`, "x".repeat(1_025), "x".repeat(5_000)) },
);
const annotation = fc.oneof(fc.constantFrom("authorization.k8s.io/reason", "authorization.k8s.io/decision", "a"), text);

const event = fc.record({
  kind: fc.constant("Event" as const),
  apiVersion: fc.constant("audit.k8s.io/v1" as const),
  level: fc.constant("Metadata" as const),
  auditID: fc.constant("1"),
  stage: fc.constant("ResponseComplete" as const),
  requestURI: text,
  verb: text,
  user: fc.constant({ username: "jane" }),
  // Addresses, in which no credential is looked for.
  sourceIPs: fc.option(fc.array(fc.constantFrom("10.0.0.1", "x".repeat(1_000)), { maxLength: 18 }), { nil: undefined }),
  userAgent: fc.option(text, { nil: undefined }),
  objectRef: fc.option(fc.record({ name: text, namespace: text, resource: text }, { requiredKeys: [] }), {
    nil: undefined,
  }),
  responseStatus: fc.option(
    fc.oneof(
      { weight: 4, arbitrary: fc.constant({ metadata: {}, code: 200 }) },
      fc.record({ metadata: fc.constant({}), message: text, code: fc.constant(403) }),
    ),
    { nil: undefined },
  ),
  requestObject: fc.option(fc.record({ data: text }), { nil: undefined, freq: 6 }),
  requestReceivedTimestamp: fc.constant(""),
  stageTimestamp: fc.constant(""),
  annotations: fc.option(fc.dictionary(annotation, text, { maxKeys: 20 }), { nil: undefined }),
}) as fc.Arbitrary<AuditEvent>;

it("neither redaction nor the bounds change an event that is plain", () => {
  let plain = 0;
  fc.assert(
    fc.property(event, (one) => {
      if (!isPlain(one, redact)) return;
      plain += 1;
      expect(redactedTexts(one, redact)).toBe(one);
      expect(withBoundedTexts(one)).toBe(one);
    }),
    { numRuns: 2_000 },
  );
  expect(plain).toBeGreaterThan(100);
});

it("the event of a usual read is plain", () => {
  const read = {
    requestURI: "/api/v1/namespaces/default/secrets/a",
    verb: "get",
    userAgent: "kubectl/v1.36.2 (linux/amd64)",
    sourceIPs: ["2001:db8::1"],
    objectRef: { resource: "secrets", namespace: "default", name: "a", apiVersion: "v1" },
    responseStatus: { metadata: {}, code: 200 },
    annotations: { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "RBAC: allowed" },
  };
  expect(isPlain(read as unknown as AuditEvent, redact)).toBe(true);
});
