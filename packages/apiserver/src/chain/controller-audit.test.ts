import { describe, expect, it } from "vitest";
import type { AuditMode } from "../audit/audit-backend.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import { type AuditDecision, METADATA } from "../audit/audit-policy.ts";
import { createSystemContext } from "../context/system-context.ts";
import { silentLogger } from "../logging/logger.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createControllerAudit } from "./controller-audit.ts";

const RECORDED = { requestUri: "/apis/example/v1/things/one/key", annotations: { "maker/name": "a" } };

function audited({ policy = METADATA, mode = "blocking" }: { policy?: AuditDecision; mode?: AuditMode } = {}) {
  const events: AuditEvent[] = [];
  const state = { isFull: false };
  let errors = 0;
  const sink = {
    async write(event: AuditEvent) {
      if (state.isFull) throw new Error("no space left");
      events.push(event);
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const audit = createControllerAudit(
    { policy, mode, sink },
    {
      runtime: systemRuntime,
      logger: silentLogger,
      metrics: { auditEvent: () => {}, auditError: () => void errors++ },
    },
  );
  const context = createSystemContext(
    { verb: "create", apiGroup: "example", apiVersion: "v1", resource: "things", subresource: "key", name: "one" },
    { clock: systemRuntime.clock, signal: new AbortController().signal, user: { name: "ann", groups: ["staff"] } },
  ).with({ credential: { id: "key-of-ann" } });
  return { audit, context, events, state, errors: () => errors };
}

describe("work of a controller for a user", () => {
  it("is recorded as the request that the user would send, with what it notes itself", async () => {
    const { audit, context, events } = audited();
    const result = await audit(context, RECORDED, async (inner) => {
      inner.audit.annotate("issued", "key-1");
      return 7;
    });
    expect(result).toBe(7);
    expect(events).toEqual([
      expect.objectContaining({
        stage: "ResponseComplete",
        level: "Metadata",
        verb: "create",
        requestURI: RECORDED.requestUri,
        user: { username: "ann", groups: ["staff"] },
        objectRef: { apiGroup: "example", apiVersion: "v1", resource: "things", subresource: "key", name: "one" },
        responseStatus: { metadata: {}, code: 201 },
        annotations: {
          "authentication.kubernetes.io/credential-id": "key-of-ann",
          "maker/name": "a",
          issued: "key-1",
        },
      }),
    ]);
    expect(events[0]).not.toHaveProperty("sourceIPs", expect.anything());
    expect(events[0]?.auditID).toMatch(/^[\da-f-]{36}$/);
  });

  it("is not recorded where it fails, where it does nothing, and where the policy says so", async () => {
    const { audit, context, events } = audited();
    await expect(audit(context, RECORDED, () => Promise.reject(new Error("no room")))).rejects.toThrow("no room");
    await audit(context, RECORDED, async () => undefined);
    expect(events).toEqual([]);
    const quiet = audited({ policy: { level: "None", omitStages: [] } });
    expect(await quiet.audit(quiet.context, RECORDED, async () => 1)).toBe(1);
    expect(quiet.events).toEqual([]);
  });

  it("fails where nothing may go unrecorded and the event cannot be written, and only there", async () => {
    for (const mode of ["blocking", "blocking-strict"] as const) {
      const { audit, context, state, errors } = audited({ mode });
      state.isFull = true;
      const done = audit(context, RECORDED, async () => 1);
      if (mode === "blocking") expect(await done).toBe(1);
      else await expect(done).rejects.toMatchObject({ code: 500 });
      expect(errors()).toBe(1);
    }
  });
});
