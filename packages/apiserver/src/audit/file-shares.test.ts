import { expect, it } from "vitest";
import { randomNumbers } from "../storage/testing/random-numbers.ts";
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

it("an event that is only counted is one that would be left out, and is counted the same way", () => {
  const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 100_000);
  const below = randomNumbers(seed);
  let countedOnly = 0;
  for (let run = 0; run < 40; run++) {
    const [asked, unasked] = [new FileShares(16 * 1024), new FileShares(16 * 1024)];
    let now = Date.parse(AT);
    for (let n = 0; n < 400; n++) {
      now += below(100) === 0 ? 4_000_000 : below(1_000);
      const { event } = counted().event(`a${n}`, `/api/v1/secrets/${below(below(2) === 0 ? 3 : 300)}?n=${n}`, {
        user: below(8) === 0 ? {} : { username: `user-${below(2)}` },
        verb: below(12) === 0 ? "update" : "get",
        responseStatus: { code: below(5) === 0 ? 403 : 200 },
        stageTimestamp: new Date(now).toISOString(),
        requestObject: below(20) === 0 ? { text: "x".repeat(2_000) } : undefined,
      });
      const isCounted = asked.countOnly(event);
      if (isCounted) countedOnly++;
      const lines = isCounted ? [] : asked.admit([{ event }]).map(({ json }) => json);
      const expected = unasked.admit([{ event }]).map(({ json }) => json);
      expect(lines, `seed ${seed}, run ${run}, event ${n}`).toEqual(expected);
      if (below(150) === 0) expect(asked.beginFile(), `seed ${seed}`).toEqual(unasked.beginFile());
    }
    expect(
      asked.records().map(({ json }) => json),
      `seed ${seed}`,
    ).toEqual(unasked.records().map(({ json }) => json));
  }
  expect(countedOnly).toBeGreaterThan(1_000);
});
