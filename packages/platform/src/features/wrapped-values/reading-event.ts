// Events about readings of wrapped values.

import type { PlatformNames } from "@postern/api/platform-names";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ObjectEvent } from "@postern/apiserver/controllers/event-recorder";
import type { Reading, Suspicion, WrappedRecord } from "./wrapped-record.ts";

export type ReadingReason =
  | "WrappedValueRead"
  | "WrappedValueReadAgain"
  | "WrappedValueFromOutside"
  | "WrappedValueLeaked";

export const SUSPICIOUS_REASONS: { readonly [why in Suspicion]: ReadingReason } = {
  ReadAgain: "WrappedValueReadAgain",
  Outside: "WrappedValueFromOutside",
  Leaked: "WrappedValueLeaked",
};

const readBy = ({ at, address, userAgent }: Reading): string =>
  `by ${userAgent === "" ? address : `${address} (${userAgent})`} at ${formatTimestamp(at)}`;

/** For people: from where the value was read, and when. */
export function readingText(
  { id, read }: Pick<WrappedRecord, "id" | "read">,
  reading: Reading,
  reason: ReadingReason,
): string {
  switch (reason) {
    case "WrappedValueRead":
      return `The wrapped value ${id} was read ${readBy(reading)}`;
    case "WrappedValueReadAgain":
      return `The wrapped value ${id} was presented ${readBy(reading)}, although it had been read${read === undefined ? "" : ` ${readBy(read)}`}: two parties have it. If the first one is unknown to you, revoke the credential`;
    case "WrappedValueFromOutside":
      return `The wrapped value ${id} was presented ${readBy(reading)}, where the access key may not be used; it was not read`;
    case "WrappedValueLeaked":
      return `The wrapped value ${id} was reported as leaked ${readBy(reading)}${read === undefined ? "; it had not been read" : `, after it had been read ${readBy(read)}. If that reader is unknown to you, revoke the credential`}`;
  }
}

export const readingEvent = (
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
  record: Pick<WrappedRecord, "id" | "read" | "subject">,
  reading: Reading,
  reason: ReadingReason,
): ObjectEvent => ({
  involvedObject: { apiVersion: `${managementGroup}/v1`, ...record.subject },
  type: reason === "WrappedValueRead" ? "Normal" : "Warning",
  reason,
  message: readingText(record, reading, reason),
});
