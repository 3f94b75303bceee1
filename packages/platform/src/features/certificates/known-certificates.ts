// The certificates that were written down, in memory, by their serials.

import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { RecordAccounts } from "../../foundation/store/record-accounts.ts";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

/** Certificates count for the owner that they were issued to, others for the virtual cluster in which they were requested. */
export type CertificateHolder = {
  readonly instanceUid: string;
  readonly issuedTo?: { readonly owner: AccessKeyOwner } | undefined;
};

export const accountOf = ({ issuedTo, instanceUid }: CertificateHolder): string =>
  issuedTo === undefined ? `cluster ${instanceUid}` : `${issuedTo.owner.kind} ${issuedTo.owner.name}`;

export class KnownCertificates {
  /** How many each holder has. */
  readonly accounts = new RecordAccounts();
  readonly #bySerial = new Map<string, IssuedCertificate>();
  readonly #bytes = new Map<string, number>();
  readonly #byAccount = new Map<string, Set<string>>();
  /** When the ends of certificates were learned. */
  readonly #learnedIn = new Map<string, ClockEpoch>();
  readonly #epochs: ClockEpochs;
  /** None ends before. */
  #firstEnd = Number.POSITIVE_INFINITY;

  constructor(epochs: ClockEpochs) {
    this.#epochs = epochs;
  }

  find(serial: string): IssuedCertificate | undefined {
    return this.#bySerial.get(serial);
  }

  filter(wanted: (certificate: IssuedCertificate) => boolean): readonly IssuedCertificate[] {
    return [...this.#bySerial.values()].filter(wanted);
  }

  /** Some of the expired ones. Scans only after the earliest expiration. */
  over(now: number, max: number): readonly IssuedCertificate[] {
    if (now < this.#firstEnd) return [];
    const over: IssuedCertificate[] = [];
    this.#firstEnd = Number.POSITIVE_INFINITY;
    for (const certificate of this.#bySerial.values()) {
      if (certificate.notAfter <= now && over.length < max) over.push(certificate);
      // Also of those that are over, until they are deleted.
      this.#firstEnd = Math.min(this.#firstEnd, certificate.notAfter);
    }
    return over;
  }

  of(account: string): readonly IssuedCertificate[] {
    return [...(this.#byAccount.get(account) ?? [])].flatMap((serial) => this.#bySerial.get(serial) ?? []);
  }

  /** Certificates of a holder that are refused already, whose removal makes none acceptable; the earliest end first. */
  useless(account: string, now: number, max: number): readonly IssuedCertificate[] {
    // A certificate without a record is refused as well. Where a cluster verifies it itself, the list has to show it until its end.
    const isUseless = ({ notAfter, revokedAt, isVerifiedElsewhere }: IssuedCertificate): boolean =>
      notAfter <= now || (revokedAt !== undefined && isVerifiedElsewhere !== true);
    return this.of(account)
      .filter(isUseless)
      .sort((one, other) => one.notAfter - other.notAfter)
      .slice(0, max);
  }

  /** A certificate that has ended stays ended when the clock is set back. */
  hasEnded({ serial, notAfter }: IssuedCertificate): boolean {
    return notAfter <= this.#epochs.latest(this.#learnedIn.get(serial) ?? this.#epochs.current());
  }

  put(certificate: IssuedCertificate, bytes: number): void {
    const { serial, notAfter } = certificate;
    this.#uncount(serial);
    this.#bySerial.set(serial, certificate);
    this.#bytes.set(serial, bytes);
    const account = accountOf(certificate);
    this.accounts.add(account, bytes, 1);
    this.#byAccount.set(account, (this.#byAccount.get(account) ?? new Set<string>()).add(serial));
    this.#firstEnd = Math.min(this.#firstEnd, notAfter);
    if (!this.#learnedIn.has(serial)) this.#learnedIn.set(serial, this.#epochs.current());
  }

  delete(serial: string): void {
    this.#uncount(serial);
    this.#bySerial.delete(serial);
    this.#bytes.delete(serial);
    this.#learnedIn.delete(serial);
  }

  #uncount(serial: string): void {
    const certificate = this.#bySerial.get(serial);
    if (certificate === undefined) return;
    const account = accountOf(certificate);
    this.accounts.add(account, this.#bytes.get(serial) ?? 0, -1);
    const serials = this.#byAccount.get(account);
    serials?.delete(serial);
    if (serials?.size === 0) this.#byAccount.delete(account);
  }

  /** Remaining certificates keep the time since which they are known. */
  replace(certificates: readonly (readonly [certificate: IssuedCertificate, bytes: number])[]): void {
    this.accounts.clear();
    this.#bySerial.clear();
    this.#bytes.clear();
    this.#byAccount.clear();
    for (const [certificate, bytes] of certificates) this.put(certificate, bytes);
    for (const serial of this.#learnedIn.keys()) if (!this.#bySerial.has(serial)) this.#learnedIn.delete(serial);
  }
}
