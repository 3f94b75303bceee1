import { expect, it } from "vitest";
import type { AuditEvent } from "./audit-event.ts";
import { FileShares } from "./file-shares.ts";

const AT = "2026-01-01T00:00:00.000000Z";

/** Events of one client, and how many of their texts have been made. */
function counted() {
  const made: string[] = [];
  const event = (auditID: string, requestURI: string, extra: object = {}): { readonly event: AuditEvent } => ({
    event: {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Request",
      auditID,
      stage: "ResponseComplete",
      requestURI,
      verb: "get",
      user: { username: "jane" },
      objectRef: { resource: "secrets" },
      responseStatus: { code: 200 },
      requestReceivedTimestamp: AT,
      stageTimestamp: AT,
      // JSON.stringify calls it.
      requestObject: { toJSON: () => made.push(auditID) } as never,
      ...extra,
    },
  });
  return { made, event };
}

it("makes no text of an event that is left out", () => {
  const { made, event } = counted();
  const shares = new FileShares(16 * 1024);
  const flood = Array.from({ length: 200 }, (_, n) => event(`flood-${n}`, "/api/v1/secrets/one"));
  const admitted = shares.admit(flood).length;
  expect(admitted).toBeLessThan(20);
  // Two more: the one that did not fit, and the record of what is left out.
  expect(made.length).toBeLessThan(admitted + 3);
});

it("records a read beyond the share once, and another one as well, until two shares are full", () => {
  const { event } = counted();
  const shares = new FileShares(16 * 1024);
  const idsOf = (one: ReturnType<typeof event>) => shares.admit([one]).map((line) => line.event.auditID);
  for (let n = 0; n < 50; n++) shares.admit([event(`flood-${n}`, "/api/v1/secrets/one")]);
  expect(idsOf(event("other", "/api/v1/secrets/other"))).toEqual(["other"]);
  expect(idsOf(event("again", "/api/v1/secrets/other?x=1"))).toEqual([]);
  const large = { requestObject: { text: "x".repeat(8 * 1024) } };
  expect(idsOf(event("too-large", "/api/v1/secrets/large", large))).toEqual([]);
  // It is not taken for recorded.
  expect(idsOf(event("small", "/api/v1/secrets/large"))).toEqual(["small"]);
  expect(idsOf(event("change", "/api/v1/secrets/large", { ...large, verb: "update" }))).toEqual(["change"]);
  expect(idsOf(event("late", "/api/v1/secrets/late"))).toEqual([]);
});
