// Every client certificate that is still good somewhere: written down before anybody gets it, looked up at every use, revocable.

import { followView } from "@postern/apiserver/cache/follow-view";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import { sameOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyOwner } from "../access-keys/access-key-state.ts";
import type { KeyOrigin } from "../access-keys/key-origins.ts";
import type { Directory } from "../directory/directory.ts";
import type { PlatformNames } from "../platform-names.ts";
import { createCertificateRecords } from "./certificate-records.ts";
import { createCertificateRefusal } from "./certificate-refusal.ts";
import { CertificateWatches } from "./certificate-watches.ts";
import { decodeCertificate, type IssuedCertificate, parentUidsOf } from "./issued-certificate.ts";
import { KnownCertificates } from "./known-certificates.ts";

export type CertificateLedger = Disposable & {
  /** Writes a certificate down, or what is now known of it beside its serial. It is known at once when this resolves. */
  record(certificate: IssuedCertificate): Promise<void>;
  find(serial: string): IssuedCertificate | undefined;
  /** Every certificate that is written down, whether or not it is good. */
  all(): readonly IssuedCertificate[];
  /** Why a certificate opens nothing now; undefined when it is good. One that is not written down is not good. */
  refusalOf(serial: string, instanceUid: string): string | undefined;
  /** Calls back once when the certificate stops being good, or the key that it was issued to changes what it may. */
  onRevoked(serial: string, listener: () => void): Disposable;
  /** Resolves with false where there is no such certificate. */
  revoke(serial: string): Promise<boolean>;
  ownedBy(owner: AccessKeyOwner): readonly IssuedCertificate[];
  childrenOf(keyUid: string): readonly IssuedCertificate[];
  /** Those that go back to a key by a value that is asked for. */
  withOrigin(isMade: (origin: KeyOrigin) => boolean): readonly IssuedCertificate[];
  ofInstance(instanceUid: string): readonly IssuedCertificate[];
};

export type CertificateLedgerOptions = {
  /** Under which the records are kept, with a slash at its end. */
  readonly prefix: string;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "byName" | "refusalOf" | "onRevoked">;
  readonly directory: Directory;
  readonly names: Pick<PlatformNames, "projectNamespace">;
  readonly epochs: ClockEpochs;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

/** Certificates that are over are forgotten as new ones come. */
const MAX_FORGOTTEN_AT_ONCE = 20;

export function createCertificateLedger(options: CertificateLedgerOptions): CertificateLedger {
  const { prefix, storage, cache, keys, directory, names, epochs, clock, scheduler } = options;
  const view = cache.view(prefix);
  const known = new KnownCertificates(epochs);
  const find = (serial: string): IssuedCertificate | undefined => known.find(serial);
  const refusal = createCertificateRefusal({
    hasEnded: (certificate) => known.hasEnded(certificate),
    keys,
    directory,
    names,
  });
  const watches = new CertificateWatches({
    find,
    isRefused: (certificate) => refusal(certificate) !== undefined,
    keys,
    directory,
  });
  const records = createCertificateRecords({ prefix, view, storage, cache }, find);
  const following = followView({ view, prefix }, scheduler, {
    replace(objects) {
      known.replace(objects.map(decodeCertificate));
      watches.recheckAll();
    },
    put(object) {
      const certificate = decodeCertificate(object);
      known.put(certificate);
      watches.recheck(certificate.serial);
    },
    delete(object) {
      const { serial } = decodeCertificate(object);
      known.delete(serial);
      watches.recheck(serial);
    },
  });

  return {
    async record(certificate) {
      await records.forget(known.over(clock.now(), MAX_FORGOTTEN_AT_ONCE));
      // What is known already stays where the newer record does not say it.
      await records.write(certificate.serial, (before) => ({ ...before, ...certificate, ...revocationOf(before) }));
    },
    find,
    all: () => known.filter(() => true),
    refusalOf(serial, instanceUid) {
      const certificate = find(serial);
      if (certificate === undefined || certificate.instanceUid !== instanceUid) return "the certificate is not known";
      return refusal(certificate);
    },
    onRevoked: (serial, listener) => watches.add(serial, listener),
    revoke: (serial) =>
      records.write(serial, (before) =>
        before === undefined ? undefined : { ...before, revokedAt: before.revokedAt ?? clock.now() },
      ),
    ownedBy: (owner) => known.filter(({ issuedTo }) => issuedTo !== undefined && sameOwner(issuedTo.owner, owner)),
    childrenOf: (keyUid) => known.filter((certificate) => parentUidsOf(certificate).includes(keyUid)),
    withOrigin: (isMade) => known.filter(({ issuedTo }) => issuedTo?.origins.some(isMade) === true),
    ofInstance: (uid) => known.filter(({ instanceUid }) => instanceUid === uid),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

const revocationOf = (known: IssuedCertificate | undefined) =>
  known?.revokedAt === undefined ? {} : { revokedAt: known.revokedAt };
