// Every client certificate that is still good somewhere: written down before anybody gets it, looked up at every use, revocable.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/follow-view";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import { sameOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyOwner } from "../access-keys/access-key-state.ts";
import type { Directory } from "../directory/directory.ts";
import type { PlatformNames } from "../platform-names.ts";
import { certificateIsWithin } from "./certificate-reach.ts";
import { createCertificateRecords } from "./certificate-records.ts";
import { decodeCertificate, type IssuedCertificate } from "./issued-certificate.ts";

export type CertificateLedger = Disposable & {
  /** Writes a certificate down, or what is now known of it beside its serial. It is known at once when this resolves. */
  record(certificate: IssuedCertificate): Promise<void>;
  find(serial: string): IssuedCertificate | undefined;
  /** Why a certificate opens nothing now; undefined when it is good. One that is not written down is not good. */
  refusalOf(serial: string, instanceUid: string): string | undefined;
  /** Calls back once when the certificate stops being good, or the key that it was issued to changes what it may. */
  onRevoked(serial: string, listener: () => void): Disposable;
  /** Resolves with false where there is no such certificate. */
  revoke(serial: string): Promise<boolean>;
  ownedBy(owner: AccessKeyOwner): readonly IssuedCertificate[];
  childrenOf(keyUid: string): readonly IssuedCertificate[];
  ofInstance(instanceUid: string): readonly IssuedCertificate[];
};

export type CertificateLedgerOptions = {
  /** Under which the records are kept, with a slash at its end. */
  readonly prefix: string;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "refusalOf" | "onRevoked">;
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
  const bySerial = new Map<string, IssuedCertificate>();
  /** When the ends of certificates were learned. */
  const learnedIn = new Map<string, ClockEpoch>();
  const watchers = new Map<string, Set<() => void>>();
  const view = cache.view(prefix);
  const records = createCertificateRecords({ prefix, view, storage, cache }, (serial) => bySerial.get(serial));

  const told = (serial: string): void => {
    for (const check of [...(watchers.get(serial) ?? [])]) check();
  };
  const following = followView({ view, prefix }, scheduler, {
    replace(objects) {
      bySerial.clear();
      for (const object of objects) put(object);
      // Of those that are still there it stays known since when.
      for (const serial of learnedIn.keys()) if (!bySerial.has(serial)) learnedIn.delete(serial);
    },
    put,
    delete(object) {
      const { serial } = decodeCertificate(object);
      bySerial.delete(serial);
      learnedIn.delete(serial);
      told(serial);
    },
  });
  function put(object: CachedObject): void {
    const certificate = decodeCertificate(object);
    bySerial.set(certificate.serial, certificate);
    if (!learnedIn.has(certificate.serial)) learnedIn.set(certificate.serial, epochs.current());
    told(certificate.serial);
  }

  const refusal = (certificate: IssuedCertificate): string | undefined => {
    const { serial, revokedAt, notAfter, issuedTo } = certificate;
    if (revokedAt !== undefined) return "the certificate is revoked";
    if (notAfter <= epochs.latest(learnedIn.get(serial) ?? epochs.current())) return "the certificate is over";
    if (issuedTo === undefined) return undefined;
    return refusalOfOwner(issuedTo.owner, issuedTo.ownerUid, directory) ?? refusalOfParent(certificate);
  };

  const refusalOfParent = ({ issuedTo }: IssuedCertificate): string | undefined => {
    if (issuedTo?.parentUid === undefined) return undefined;
    const parent = keys.byUid(issuedTo.parentUid);
    if (parent === undefined) return "the key it was issued to is gone";
    const why = keys.refusalOf(parent);
    if (why !== undefined) return `the key it was issued to is refused: ${why}`;
    return certificateIsWithin(issuedTo, parent.restrictions, names)
      ? undefined
      : "reaches beyond the key it was issued to";
  };

  const all = (wanted: (certificate: IssuedCertificate) => boolean): readonly IssuedCertificate[] =>
    [...bySerial.values()].filter(wanted);

  return {
    async record(certificate) {
      const now = clock.now();
      await records.forget(all(({ notAfter }) => notAfter <= now).slice(0, MAX_FORGOTTEN_AT_ONCE));
      // What is known already stays where the newer record does not say it.
      await records.write(certificate.serial, (known) => ({ ...known, ...certificate, ...revocationOf(known) }));
    },
    find: (serial) => bySerial.get(serial),
    refusalOf(serial, instanceUid) {
      const certificate = bySerial.get(serial);
      if (certificate === undefined || certificate.instanceUid !== instanceUid) return "the certificate is not known";
      return refusal(certificate);
    },
    onRevoked(serial, listener) {
      const certificate = bySerial.get(serial);
      let isOver = false;
      const end = (): void => {
        if (isOver) return;
        isOver = true;
        listener();
      };
      const check = (): void => {
        const now = bySerial.get(serial);
        if (now === undefined || refusal(now) !== undefined) end();
      };
      const own = watchers.get(serial) ?? new Set();
      watchers.set(serial, own.add(check));
      const parent =
        certificate?.issuedTo?.parentUid === undefined ? undefined : keys.byUid(certificate.issuedTo.parentUid);
      const handles = [directory.onChange(check), ...(parent === undefined ? [] : [keys.onRevoked(parent.id, end)])];
      return {
        [Symbol.dispose]() {
          isOver = true;
          own.delete(check);
          if (own.size === 0 && watchers.get(serial) === own) watchers.delete(serial);
          for (const handle of handles) handle[Symbol.dispose]();
        },
      };
    },
    revoke: (serial) =>
      records.write(serial, (known) =>
        known === undefined ? undefined : { ...known, revokedAt: known.revokedAt ?? clock.now() },
      ),
    ownedBy: (owner) => all(({ issuedTo }) => issuedTo !== undefined && sameOwner(issuedTo.owner, owner)),
    childrenOf: (keyUid) => all(({ issuedTo }) => issuedTo?.parentUid === keyUid),
    ofInstance: (uid) => all(({ instanceUid }) => instanceUid === uid),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

const revocationOf = (known: IssuedCertificate | undefined) =>
  known?.revokedAt === undefined ? {} : { revokedAt: known.revokedAt };

function refusalOfOwner(owner: AccessKeyOwner, uid: string | undefined, directory: Directory): string | undefined {
  if (owner.kind === "subject") {
    return directory.userBySubject(owner.name)?.locked === true ? "its user is locked" : undefined;
  }
  const found = owner.kind === "user" ? directory.user(owner.name) : directory.team(owner.name);
  if (found === undefined || (uid !== undefined && found.uid !== uid)) return `its ${owner.kind} is gone`;
  return "locked" in found && found.locked ? "its user is locked" : undefined;
}
