// Writes into the store that credentials have ended: old values of rotated keys, and client certificates. A restart whose clock is behind finds it there
// (ADR 171).

import { followView } from "@postern/apiserver/cache/view-informer";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEndSweeper } from "../../../foundation/store/expiring-records.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { IssuedCertificate } from "../../certificates/issued-certificate.ts";
import type { AccessKeys } from "../feature.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";
import { endedValue } from "../record/sealed-access-key.ts";

type Port = Pick<ControllerPort, "runtime" | "onError">;

/** The end of the next old value of a key; undefined where none is accepted. */
const nextEnd = ({ retired }: AccessKeyRecord): number | undefined => {
  const ends = retired.flatMap(({ until, isOver }) => (isOver === true ? [] : [until]));
  return ends.length === 0 ? undefined : Math.min(...ends);
};

/** Marks old values of rotated keys as ended. */
export const createRetiredValues = (
  port: Port,
  { index: keys, records: keyRecords, sealedRecords }: AccessKeys,
): Controller =>
  createEndSweeper<AccessKeyRecord>(port, {
    begin: keys.whenRead(),
    items: () => keys.all(),
    follow: (onItem) =>
      followView(keyRecords, port.runtime.scheduler, {
        put({ key }) {
          const record = keys.recordOf(key.slice(keyRecords.prefix.length));
          if (record !== undefined) onItem(record);
        },
      }),
    endOf: (record) => nextEnd(record) ?? Number.POSITIVE_INFINITY,
    remove: async (record) => {
      const end = nextEnd(record) ?? Number.NEGATIVE_INFINITY;
      await sealedRecords.write(record, (sealed) => {
        const hasEnded = ({ until, isOver }: (typeof sealed.retired)[number]): boolean =>
          isOver !== true && until <= end;
        if (!sealed.retired.some(hasEnded)) return undefined;
        return {
          ...sealed,
          retired: sealed.retired.map((value) => (hasEnded(value) ? endedValue(value, value.until) : value)),
        };
      });
    },
    nameOf: ({ name }) => name,
  });

/** Deletes the records of certificates that have expired: without a record they are refused. */
export const createEndedCertificates = (
  port: Port,
  { certificates }: { readonly certificates: Pick<CertificateLedger, "all" | "forget"> },
): Controller =>
  createEndSweeper<IssuedCertificate>(port, {
    items: () => certificates.all(),
    endOf: ({ notAfter }) => notAfter,
    remove: ({ serial }) => certificates.forget(serial),
    nameOf: ({ serial }) => serial,
  });
