// One-time delivery of credentials: wrapped values.

import type { Foundation } from "../../foundation/foundation.ts";
import { labelledCounter } from "../../foundation/metrics/counters.ts";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import { followAccounts } from "../../foundation/store/record-accounts.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { followReadRecords } from "./read-records.ts";
import { decodeWrapped } from "./wrapped-record.ts";
import { createWrappedValues, type Unwrapped, type WrappedValues } from "./wrapped-values.ts";

export type OneTimeDelivery = Disposable & {
  readonly values: WrappedValues;
  readonly records: ExpiringRecords;
  /** Counts what became of values. */
  readonly count: (result: "created" | Unwrapped["outcome"]) => void;
};

export function openOneTimeDelivery(base: Foundation, { keys }: { readonly keys: AccessKeys }): OneTimeDelivery {
  const { keyRing, metrics, runtime, storage } = base;
  const records = { ...base.records("wrapped-values"), storage };
  const accounts = followAccounts(records, runtime.scheduler, (record) => decodeWrapped(record).account);
  const read = followReadRecords(records, runtime.scheduler);
  const count = labelledCounter(
    metrics.registry,
    "postern_wrapped_values_total",
    "Wrapped values, by what happened: created, read, read-before, outside (of the ranges of the key), revoked or unknown",
    "result",
  );
  const values = createWrappedValues({ records, accounts, read, keyRing, runtime, format: keys.secrets.format });
  return {
    values: {
      ...values,
      async wrap(request) {
        const wrapped = await values.wrap(request);
        count("created");
        return wrapped;
      },
      async unwrap(...asked) {
        const unwrapped = await values.unwrap(...asked);
        count(unwrapped.outcome);
        return unwrapped;
      },
    },
    records,
    count,
    [Symbol.dispose]() {
      accounts[Symbol.dispose]();
      read[Symbol.dispose]();
    },
  };
}
