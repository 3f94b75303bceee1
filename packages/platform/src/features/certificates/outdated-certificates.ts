// The certificates that the rotation of a CA makes invalid, as its status lists them.

import type { OutdatedItem } from "@postern/api/certificate-authority";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { LastUse } from "../access-keys/last-use/last-activity.ts";
import type { OutdatedCredentials } from "../certificate-authorities/present-authority.ts";
import { MOST_ITEMS } from "../certificate-authorities/present-authority.ts";
import type { CertificateLedger } from "./certificate-ledger.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

/** Those that are accepted now, in steps: there may be thousands, and each goes back to several keys. */
export function* outdatedCertificates(
  certificates: readonly IssuedCertificate[],
  isOutdated: (certificate: IssuedCertificate) => boolean,
  { refusalOf }: Pick<CertificateLedger, "refusalOf">,
): Steps<readonly IssuedCertificate[]> {
  const found: IssuedCertificate[] = [];
  for (const certificate of certificates) {
    yield;
    const { serial, instanceUid } = certificate;
    if (isOutdated(certificate) && refusalOf(serial, instanceUid) === undefined) found.push(certificate);
  }
  return found;
}

/** With their last uses, in steps. `since`: when the rotation was prepared, in milliseconds since the epoch; undefined: it was not. */
export function* withLastUses(
  certificates: readonly IssuedCertificate[],
  since: number | undefined,
  { lastUseOf }: Pick<CertificateLedger, "lastUseOf">,
): Steps<OutdatedCredentials> {
  const latest = new LatestUsed(since);
  for (const certificate of certificates) {
    yield;
    const use = lastUseOf(certificate.serial);
    latest.add(use, () => outdatedItem(certificate, use));
  }
  return latest.credentials();
}

/** The credentials that were used last, MOST_ITEMS of any number. */
export class LatestUsed {
  readonly #since: number;
  #count = 0;
  #used = 0;
  #kept: { readonly at: number; readonly describe: () => OutdatedItem }[] = [];

  constructor(since: number | undefined) {
    this.#since = since ?? Number.POSITIVE_INFINITY;
  }

  /** `describe` is called for those that are listed. */
  add(use: LastUse | undefined, describe: () => OutdatedItem): void {
    const at = use?.at ?? Number.NEGATIVE_INFINITY;
    this.#count++;
    if (at >= this.#since) this.#used++;
    this.#kept.push({ at, describe });
    if (this.#kept.length >= 2 * MOST_ITEMS) this.#kept = this.#latest();
  }

  credentials(): OutdatedCredentials {
    return { count: this.#count, used: this.#used, items: this.#latest().map(({ describe }) => describe()) };
  }

  #latest() {
    return this.#kept.sort((one, other) => (one.at === other.at ? 0 : other.at - one.at)).slice(0, MOST_ITEMS);
  }
}

const outdatedItem = (
  { serial, commonName, issuedTo, notAfter }: IssuedCertificate,
  use: LastUse | undefined,
): OutdatedItem => ({
  kind: "Certificate",
  id: `serial:${serial}`,
  subject: commonName,
  ...(issuedTo === undefined ? {} : { owner: `${issuedTo.owner.kind}/${issuedTo.owner.name}` }),
  expirationTimestamp: formatTimestamp(notAfter),
  ...presentUse(use),
});

/** As the status of an access key says it. */
export const presentUse = (use: LastUse | undefined): Pick<OutdatedItem, "lastActivity" | "lastUsedFrom"> =>
  use === undefined
    ? {}
    : {
        lastActivity: formatTimestamp(use.at),
        ...(use.from === undefined ? {} : { lastUsedFrom: { ...use.from } }),
      };
