// All valid client certificates: recorded before they are issued, checked at every use, revocable.

import type { PlatformNames } from "@postern/api/platform-names";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/system-runtime";
import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import { fullAccountError, RecordAccounts } from "../../foundation/store/record-accounts.ts";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { AccessKeyOwner } from "../access-keys/access-key-state.ts";
import type { CatchUp } from "../access-keys/catch-up.ts";
import type { KeyOrigin } from "../access-keys/key-origins.ts";
import type { Directory } from "../directory/directory.ts";
import { createCertificateRefusal } from "./certificate-refusal.ts";
import { decodeCertificate, encodeCertificate, type IssuedCertificate, parentUidsOf } from "./issued-certificate.ts";

export type CertificateLedger = Disposable & {
  /**
   * Makes room for one more certificate: those of the same holder that have ended are forgotten, and revoked ones. Rejects with the ApiError 403 if
   * as many as allowed are still valid.
   */
  makeRoom(holder: CertificateHolder): Promise<void>;
  /** Records a certificate, for which it makes room, or new facts about it. It is known as soon as this resolves. */
  record(certificate: IssuedCertificate): Promise<void>;
  find(serial: string): IssuedCertificate | undefined;
  /** Every recorded certificate, whether valid or not. */
  all(): readonly IssuedCertificate[];
  /** Why a certificate is refused; undefined if it is valid. Certificates without a record are refused. */
  refusalOf(serial: string, instanceUid: string): string | undefined;
  /** Resolves when a certificate that memory would refuse can be judged; undefined if it can now. For certificates whose signature is verified. */
  whenFound(serial: string, instanceUid: string): Promise<void> | undefined;
  /** Whether a cluster that verifies the certificate itself accepts it, even if it is refused here. */
  isAcceptedElsewhere(certificate: IssuedCertificate): boolean;
  /** Calls back once when the certificate stops being good, or the key that it was issued to changes what it may. */
  onRevoked(serial: string, listener: () => void): Disposable;
  /** Deletes the record of a certificate that has ended. */
  forget(serial: string): Promise<void>;
  /** Resolves with false where there is no such certificate. */
  revoke(serial: string): Promise<boolean>;
  ownedBy(owner: AccessKeyOwner): readonly IssuedCertificate[];
  childrenOf(keyUid: string): readonly IssuedCertificate[];
  /** Those that go back to a key by a value that is asked for. */
  withOrigin(isMade: (origin: KeyOrigin) => boolean): readonly IssuedCertificate[];
  ofInstance(instanceUid: string): readonly IssuedCertificate[];
};

/** Certificates count for the owner that they were issued to, others for the virtual cluster in which they were requested. */
export type CertificateHolder = {
  readonly instanceUid: string;
  readonly issuedTo?: { readonly owner: AccessKeyOwner } | undefined;
};

export type CertificateLedgerDeps = {
  /** Under which the records are kept, with a slash at its end. */
  readonly prefix: string;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "byName" | "refusalOf" | "onRevoked">;
  readonly directory: Directory;
  readonly names: Pick<PlatformNames, "projectNamespace">;
  readonly epochs: ClockEpochs;
  /** Default: memory shows everything that has been written. */
  readonly catchUp?: CatchUp;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Of one holder. */
  readonly limit?: StoredAmount;
};

const DEFAULT_LIMIT: StoredAmount = { objects: 2_000, bytes: 4 << 20 };
/** Certificates that are over are forgotten as new ones come. */
const MAX_FORGOTTEN_AT_ONCE = 20;

export function createCertificateLedger(deps: CertificateLedgerDeps): CertificateLedger {
  const { prefix, storage, cache, keys, directory, names, epochs, catchUp, clock, scheduler } = deps;
  const { limit = DEFAULT_LIMIT } = deps;
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
      known.replace(objects.map((object) => [decodeCertificate(object), object.storedBytes]));
      watches.recheckAll();
    },
    put(object) {
      const certificate = decodeCertificate(object);
      known.put(certificate, object.storedBytes);
      watches.recheck(certificate.serial);
    },
    delete(object) {
      const { serial } = decodeCertificate(object);
      known.delete(serial);
      watches.recheck(serial);
    },
  });

  function checkRoom(holder: CertificateHolder): void {
    const account = accountOf(holder);
    if (!known.accounts.isFull(account, limit)) return;
    const { objects, bytes } = known.accounts.of(account);
    throw fullAccountError(
      `${nameOf(holder)} has ${objects} client certificates that have not ended, with ${bytes} bytes, and the limit is ${limit.objects} with ${limit.bytes} bytes: revoke those that are not needed any more`,
    );
  }

  async function makeRoom(holder: CertificateHolder): Promise<void> {
    const account = accountOf(holder);
    if (!known.accounts.isFull(account, limit)) return;
    await records.forget(known.useless(account, clock.now(), MAX_FORGOTTEN_AT_ONCE));
    checkRoom(holder);
  }

  return {
    makeRoom,
    async record(certificate) {
      await records.forget(known.over(clock.now(), MAX_FORGOTTEN_AT_ONCE));
      // What is known already stays where the newer record does not say it.
      const write = () =>
        records.write(certificate.serial, (before) => ({ ...before, ...certificate, ...revocationOf(before) }));
      if (find(certificate.serial) !== undefined) {
        await write();
        return;
      }
      await makeRoom(certificate);
      // In the same turn as the count, so that concurrent ones do not all take the last place.
      checkRoom(certificate);
      const isVisible = (): boolean => find(certificate.serial) !== undefined;
      await known.accounts.during(accountOf(certificate), isVisible, write);
    },
    find,
    all: () => known.filter(() => true),
    refusalOf(serial, instanceUid) {
      const certificate = find(serial);
      if (certificate === undefined || certificate.instanceUid !== instanceUid) return "the certificate is not known";
      return refusal(certificate);
    },
    isAcceptedElsewhere: (certificate) => certificate.isVerifiedElsewhere === true && !known.hasEnded(certificate),
    whenFound(serial, instanceUid) {
      const certificate = find(serial);
      const isGood = certificate?.instanceUid === instanceUid && refusal(certificate) === undefined;
      return isGood ? undefined : catchUp?.();
    },
    onRevoked: (serial, listener) => watches.add(serial, listener),
    forget: (serial) => records.forget([find(serial)].filter((certificate) => certificate !== undefined)),
    revoke: (serial) =>
      records.write(serial, (before) =>
        before === undefined ? undefined : { ...before, revokedAt: before.revokedAt ?? clock.now() },
      ),
    ownedBy: (owner) => known.of(accountOf({ instanceUid: "", issuedTo: { owner } })),
    childrenOf: (keyUid) => known.filter((certificate) => parentUidsOf(certificate).includes(keyUid)),
    withOrigin: (isMade) => known.filter(({ issuedTo }) => issuedTo?.origins.some(isMade) === true),
    ofInstance: (uid) => known.filter(({ instanceUid }) => instanceUid === uid),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

const revocationOf = (known: IssuedCertificate | undefined) =>
  known?.revokedAt === undefined ? {} : { revokedAt: known.revokedAt };

const accountOf = ({ issuedTo, instanceUid }: CertificateHolder): string =>
  issuedTo === undefined ? `cluster ${instanceUid}` : `${issuedTo.owner.kind} ${issuedTo.owner.name}`;

const nameOf = ({ issuedTo }: CertificateHolder): string =>
  issuedTo === undefined ? "the virtual cluster" : `the ${issuedTo.owner.kind} ${JSON.stringify(issuedTo.owner.name)}`;

// The certificates that were written down, in memory, by their serials.

class KnownCertificates {
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

  /** Those of a holder without which nothing is accepted that is refused now, the earliest end first. */
  useless(account: string, now: number, max: number): readonly IssuedCertificate[] {
    // A certificate without a record is refused as well. Where a cluster verifies it itself, the list has to show it until its end.
    const isUseless = ({ notAfter, revokedAt, isVerifiedElsewhere }: IssuedCertificate): boolean =>
      notAfter <= now || (revokedAt !== undefined && isVerifiedElsewhere !== true);
    return this.of(account)
      .filter(isUseless)
      .sort((one, other) => one.notAfter - other.notAfter)
      .slice(0, max);
  }

  /** What has ended does not begin again because the clock is set back. */
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

  /** Of those that are still there it stays known since when. */
  replace(certificates: readonly (readonly [certificate: IssuedCertificate, bytes: number])[]): void {
    this.accounts.clear();
    this.#bySerial.clear();
    this.#bytes.clear();
    this.#byAccount.clear();
    for (const [certificate, bytes] of certificates) this.put(certificate, bytes);
    for (const serial of this.#learnedIn.keys()) if (!this.#bySerial.has(serial)) this.#learnedIn.delete(serial);
  }
}

// Who wants to know when a certificate stops being good: one entry for each lasting request that was made with it.

type CertificateWatchesDeps = {
  readonly find: (serial: string) => IssuedCertificate | undefined;
  readonly isRefused: (certificate: IssuedCertificate) => boolean;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "onRevoked">;
  readonly directory: Pick<Directory, "onChange">;
};

class CertificateWatches {
  readonly #deps: CertificateWatchesDeps;
  /** By serial: what looks again, for each who wants to know. */
  readonly #checks = new Map<string, Set<() => void>>();

  constructor(deps: CertificateWatchesDeps) {
    this.#deps = deps;
  }

  /** Calls back once when the certificate stops being good, or the key that it was issued to changes what it may. */
  add(serial: string, listener: () => void): Disposable {
    const { find, isRefused, keys, directory } = this.#deps;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      listener();
    };
    const check = (): void => {
      const now = find(serial);
      if (now === undefined || isRefused(now)) end();
    };
    const checks = this.#checks.get(serial) ?? new Set();
    this.#checks.set(serial, checks.add(check));
    const parents = parentUidsOf(find(serial)).flatMap((uid) => keys.byUid(uid) ?? []);
    const handles = [directory.onChange(check), ...parents.map(({ id }) => keys.onRevoked(id, end))];
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        checks.delete(check);
        if (checks.size === 0 && this.#checks.get(serial) === checks) this.#checks.delete(serial);
        for (const handle of handles) handle[Symbol.dispose]();
      },
    };
  }

  /** Looks at a certificate again after it changed. */
  recheck(serial: string): void {
    for (const check of [...(this.#checks.get(serial) ?? [])]) check();
  }

  recheckAll(): void {
    for (const serial of [...this.#checks.keys()]) this.recheck(serial);
  }
}

// Writes records of certificates, and deletes expired ones, while other servers do the same.

type CertificateRecords = {
  /**
   * Resolves when the cache shows what was written; with false where `change` gives undefined, so that nothing is to be written. It is called again
   * after a conflict.
   */
  write(
    serial: string,
    change: (known: IssuedCertificate | undefined) => IssuedCertificate | undefined,
  ): Promise<boolean>;
  forget(certificates: readonly IssuedCertificate[]): Promise<void>;
};

type CertificateRecordsDeps = ViewPrefix & { readonly storage: Storage; readonly cache: WatchCache };

/** `knownOf` gives what the cache shows of a certificate. */
function createCertificateRecords(
  { view, prefix, storage, cache }: CertificateRecordsDeps,
  knownOf: (serial: string) => IssuedCertificate | undefined,
): CertificateRecords {
  const keyOf = (serial: string): string => `${prefix}${serial.toLowerCase()}`;
  return {
    async write(serial, change) {
      // What the cache does not show is new in all likelihood: whether it is, the store says when it is written.
      let isNew = knownOf(serial) === undefined;
      for (;;) {
        const entry = isNew ? undefined : await storage.get(keyOf(serial));
        if (entry !== undefined) await cache.waitFor(entry.revision);
        const next = change(entry === undefined ? undefined : knownOf(serial));
        if (next === undefined && isNew) {
          isNew = false;
          continue;
        }
        if (next === undefined) return false;
        try {
          const value = encodeCertificate(next);
          const revision =
            entry === undefined
              ? await storage.create(keyOf(serial), value)
              : await storage.update(keyOf(serial), value, entry.revision);
          await cache.waitFor(revision);
          return true;
        } catch (error) {
          if (!(error instanceof KeyExistsError) && !(error instanceof RevisionConflictError)) throw error;
          isNew = false;
        }
      }
    },
    async forget(certificates) {
      for (const { serial } of certificates) {
        const known = view.get(keyOf(serial));
        // Another server may be doing the same.
        if (known === undefined) continue;
        const revision = await storage.delete(known.key, known.revision).catch(ignoreConflict);
        if (revision !== undefined) await cache.waitFor(revision);
      }
    },
  };
}

function ignoreConflict(error: unknown): undefined {
  if (!(error instanceof RevisionConflictError)) throw error;
}
