// The certificates that were written down, in memory, by their serials.

import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { IssuedCertificate } from "./issued-certificate.ts";

export class KnownCertificates {
  readonly #bySerial = new Map<string, IssuedCertificate>();
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

  /** Some of those whose end has come. Looks through them only once the first of all ends has. */
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

  /** What has ended does not begin again because the clock is set back. */
  hasEnded({ serial, notAfter }: IssuedCertificate): boolean {
    return notAfter <= this.#epochs.latest(this.#learnedIn.get(serial) ?? this.#epochs.current());
  }

  put(certificate: IssuedCertificate): void {
    const { serial, notAfter } = certificate;
    this.#bySerial.set(serial, certificate);
    this.#firstEnd = Math.min(this.#firstEnd, notAfter);
    if (!this.#learnedIn.has(serial)) this.#learnedIn.set(serial, this.#epochs.current());
  }

  delete(serial: string): void {
    this.#bySerial.delete(serial);
    this.#learnedIn.delete(serial);
  }

  /** Of those that are still there it stays known since when. */
  replace(certificates: readonly IssuedCertificate[]): void {
    this.#bySerial.clear();
    for (const certificate of certificates) this.put(certificate);
    for (const serial of this.#learnedIn.keys()) if (!this.#bySerial.has(serial)) this.#learnedIn.delete(serial);
  }
}
