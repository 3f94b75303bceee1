// Credentials in the groups of a user are redacted, and looked for once per user.

import { expect, test } from "vitest";
import type { UserInfo } from "../authentication/user-info.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { AuditEvent } from "./audit-event.ts";
import { createAuditRecorder } from "./audit-recorder.ts";

const SECRET = "a-value-that-was-chosen-for-a-key";

function recordOf(user: UserInfo): { readonly event: AuditEvent; readonly redactions: number } {
  const events: AuditEvent[] = [];
  let redactions = 0;
  const recorder = createAuditRecorder(
    "a1",
    {
      request: { requestUri: "/version", remoteAddress: "", headers: {} } as unknown as ApiRequest,
      info: { isResourceRequest: false, verb: "get", path: "/version" } as unknown as RequestInfo,
      redact: (text) => {
        redactions++;
        return text.replaceAll(SECRET, "<redacted>");
      },
      receivedAt: 0,
    },
    {
      clock: systemRuntime.clock,
      policy: { level: "Metadata", omitStages: [] },
      write: (event) => void events.push(event),
      redaction: () => undefined,
      maxBodyLength: 1,
    },
  );
  recorder.setUser(user);
  void recorder.responseComplete(200);
  const [event] = events;
  if (event === undefined) throw new Error("no event was written");
  return { event, redactions };
}

test("the groups of a user that is remembered are looked through once", () => {
  const user = { name: "jane", groups: Array.from({ length: 1_000 }, (_, at) => `team-${at}`) };
  expect(recordOf(user).redactions).toBeGreaterThan(1_000);
  const { event, redactions } = recordOf(user);
  expect(redactions).toBeLessThan(100);
  expect(event.user.groups).toHaveLength(1_000);
});

test("a credential among the groups is redacted in every event", () => {
  const user = { name: "jane", groups: ["team-1", `team-${SECRET}`] };
  for (const _ of [1, 2]) expect(recordOf(user).event.user.groups).toEqual(["team-1", "team-<redacted>"]);
});

test("no credential is looked for in an event that is only counted", () => {
  const events: AuditEvent[] = [];
  const recorder = createAuditRecorder(
    "a1",
    {
      request: { requestUri: "/version", remoteAddress: "", headers: {} } as unknown as ApiRequest,
      info: { isResourceRequest: false, verb: "get", path: "/version" } as unknown as RequestInfo,
      redact: (text) => expect.fail(text),
      receivedAt: 0,
    },
    {
      clock: systemRuntime.clock,
      policy: { level: "Metadata", omitStages: [] },
      write: () => expect.fail("it was written"),
      countOnly: (event) => events.push(event) > 0,
      redaction: () => undefined,
      maxBodyLength: 1,
    },
  );
  void recorder.responseComplete(200);
  expect(events).toHaveLength(1);
});
