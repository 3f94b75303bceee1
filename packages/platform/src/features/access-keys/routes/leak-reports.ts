// POST /leaks: anyone can report leaked access keys. The response never reveals whether a key exists.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RateLimits } from "@postern/apiserver/chain/with-rate-limit";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { AccessKeys } from "../feature.ts";
import { eventOfKey } from "../key-events.ts";
import { disableKey } from "../kinds/disable-key.ts";
import { withLeak } from "../rotation/with-leak.ts";

const MAX_BODY_BYTES = 64 * 1024;
/** More in one report are not looked at. */
const MAX_KEYS = 100;
/** Reports come from scanners, one at a time. */
const REPORTS_PER_SECOND = 1;
const REPORTS_AT_ONCE = 10;

/** The same for every report. */
const ACCEPTED = JSON.stringify({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  message: "thank you: reported access keys of this server are handled",
  code: 202,
});

/** The annotation of a key that was disabled because it was reported. */
const LEAK_REPORTED_AT = "leak-reported-at";

/** Applies regardless of the configured limits of other requests. */
export const leakReportLimits = ({ rateLimiter }: Pick<Foundation, "rateLimiter">): RateLimits => ({
  perSource: rateLimiter({ qps: REPORTS_PER_SECOND, burst: REPORTS_AT_ONCE }),
});

/** Deals with a value that has the form of a key, and may be none. `discard`: what it opens is closed. */
export type ReportedValue = (
  value: string,
  context: RequestContext,
  options: { readonly discard: boolean },
) => Promise<void>;

/** The body is any text with keys in it. The checksum in a key distinguishes it from noise without a lookup. */
export function createLeakReports(base: Foundation, keys: AccessKeys, dealWithOther: ReportedValue): Handler {
  const { names, signal, onError } = base;
  const { clock, scheduler } = base.runtime;
  const isDisabling = base.configuration.accessKeys.leaked === "disable";

  /** `key` is the record found by the reported value: all consequences concern that value. */
  async function deal(key: AccessKeyState): Promise<void> {
    let isCurrent = false;
    let isNews = false;
    await keys.sealedRecords.write(key, (sealed) => {
      isCurrent = sealed.key?.id === key.id;
      const next = withLeak(sealed, key.id, clock.now(), isDisabling);
      isNews = next !== undefined;
      return next;
    });
    if (!isNews) return;
    keys.recordEvent(eventOfKey(names, key, isCurrent ? "Leaked" : "RetiredValueLeaked"));
    if (!isCurrent || !isDisabling) return;
    // Owners may not read Events.
    const why = { [names.key(LEAK_REPORTED_AT)]: formatTimestamp(clock.now()) };
    await disableKey(key, base.own("OwnedAccessKey"), { clock, signal }, why);
  }

  async function dealWithOthers(values: readonly string[], context: RequestContext): Promise<void> {
    for (const value of values) await dealWithOther(value, context, { discard: isDisabling });
  }

  return async (context) => {
    const { request } = context;
    if (request.method !== "POST") throw methodNotAllowedError();
    const text = Buffer.from(await request.body(MAX_BODY_BYTES)).toString("utf8");
    keys.metrics.leakReported();
    const reported = [...new Set(keys.secrets.format.all(text))].slice(0, MAX_KEYS);
    if (reported.length > 0) keys.comparisons.spend("reported", context, reported.length);
    await keys.index.whenRead();
    const found = reported.flatMap((value) => keys.index.find(value) ?? []);
    // After the response, so that it takes no longer for existing keys.
    scheduler.schedule(0, () => {
      for (const key of found) deal(key).catch((error: unknown) => onError(error, key.name));
      dealWithOthers(reported, context).catch((error: unknown) => onError(error, "leak report"));
    });
    return jsonResponse(202, ACCEPTED);
  };
}
