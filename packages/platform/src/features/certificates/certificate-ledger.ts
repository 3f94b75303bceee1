// All valid client certificates: recorded before they are issued, checked at every use, revocable.

import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { Foundation } from "../../foundation/foundation.ts";
import { fullAccountError } from "../../foundation/store/record-accounts.ts";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { CatchUp } from "../access-keys/index/catch-up.ts";
import type { KeyOrigin } from "../access-keys/key-origins.ts";
import {
  createLastActivity,
  type LastActivity,
  type LastUse,
  usedFrom,
} from "../access-keys/last-use/last-activity.ts";
import type { Directory } from "../directory/directory.ts";
import { createCertificateRecords } from "./certificate-records.ts";
import { createCertificateRefusal, type RequestGrants } from "./certificate-refusal.ts";
import { CertificateWatches } from "./certificate-watches.ts";
import { decodeCertificate, type IssuedCertificate, parentUidsOf, usedCertificate } from "./issued-certificate.ts";
import { accountOf, type CertificateHolder, KnownCertificates } from "./known-certificates.ts";

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
  /** Resolves when a certificate that memory would refuse can be checked; undefined if it can now. For certificates whose signature is verified. */
  whenFound(serial: string, instanceUid: string, address: string): Promise<void> | undefined;
  /** Whether a cluster that verifies the certificate itself accepts it, even if it is refused here. */
  isAcceptedElsewhere(certificate: IssuedCertificate): boolean;
  /** Calls back once when the certificate stops being good, or the key that it was issued to changes what it may. */
  onRevoked(serial: string, listener: () => void): Disposable;
  /** Uses of certificates, for what writes them. */
  readonly activity: LastActivity;
  /** Notes a request with the certificate of its connection, which was accepted. Costs a few look-ups. */
  noteUse(request: Pick<ApiRequest, "peerCertificate" | "remoteAddress" | "headers">): void;
  lastUseOf(serial: string): LastUse | undefined;
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

const DEFAULT_LIMIT: StoredAmount = { objects: 2_000, bytes: 4 << 20 };
/** Certificates that are over are forgotten as new ones come. */
const MAX_FORGOTTEN_AT_ONCE = 20;

/** `limit`: of one holder. Without `catchUp`, memory shows everything that has been written. */
export function createCertificateLedger(
  base: Pick<Foundation, "storage" | "cache" | "names" | "epochs" | "runtime" | "records">,
  needs: {
    readonly keys: AccessKeyIndex;
    readonly directory: Directory;
    readonly catchUp?: CatchUp;
    /** Absent: no certificate was made with an access request. */
    readonly granted?: RequestGrants;
  },
  limit = DEFAULT_LIMIT,
): CertificateLedger {
  const { storage, cache, names, epochs } = base;
  const { clock, scheduler } = base.runtime;
  const { keys, directory, catchUp, granted } = needs;
  const { view, prefix } = base.records("certificates");
  const known = new KnownCertificates(epochs);
  const find = (serial: string): IssuedCertificate | undefined => known.find(serial);
  const refusal = createCertificateRefusal({
    hasEnded: (certificate) => known.hasEnded(certificate),
    keys,
    directory,
    names,
    granted,
  });
  const watches = new CertificateWatches({
    find,
    isRefused: (certificate) => refusal(certificate) !== undefined,
    keys,
    directory,
  });
  const records = createCertificateRecords({ prefix, view, storage, cache }, find);
  const activity = createLastActivity(epochs, base.records("certificate-activity"));
  const forgetUse = (serial: string): void => activity.forget(usedCertificate(serial));
  const following = followView({ view, prefix }, scheduler, {
    replace(objects) {
      const certificates = objects.map((object) => [decodeCertificate(object), object.storedBytes] as const);
      const serials = new Set(certificates.map(([{ serial }]) => serial));
      for (const { serial } of known.filter((certificate) => !serials.has(certificate.serial))) forgetUse(serial);
      known.replace(certificates);
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
      forgetUse(serial);
      watches.recheck(serial);
    },
  });

  const grantChanges = granted?.onChange(() => watches.recheckAll());

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
      // Known values stay where the newer record does not have them.
      const write = () =>
        records.write(certificate.serial, (before) => ({ ...before, ...certificate, ...revocationOf(before) }));
      if (find(certificate.serial) !== undefined) {
        await write();
        return;
      }
      await makeRoom(certificate);
      // In the same turn of the event loop as the count, so that concurrent requests do not all take the last place.
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
    whenFound(serial, instanceUid, address) {
      const certificate = find(serial);
      const isGood = certificate?.instanceUid === instanceUid && refusal(certificate) === undefined;
      return isGood ? undefined : catchUp?.(address);
    },
    onRevoked: (serial, listener) => watches.add(serial, listener),
    activity,
    noteUse(request) {
      const serial = request.peerCertificate()?.serialNumber;
      if (serial !== undefined) activity.record(serial, clock.now(), usedFrom(request));
    },
    lastUseOf: (serial) => activity.lastUse(usedCertificate(serial)),
    forget: (serial) => records.forget([find(serial)].filter((certificate) => certificate !== undefined)),
    revoke: (serial) =>
      records.write(serial, (before) =>
        before === undefined ? undefined : { ...before, revokedAt: before.revokedAt ?? clock.now() },
      ),
    ownedBy: (owner) => known.of(accountOf({ instanceUid: "", issuedTo: { owner } })),
    childrenOf: (keyUid) => known.filter((certificate) => parentUidsOf(certificate).includes(keyUid)),
    withOrigin: (isMade) => known.filter(({ issuedTo }) => issuedTo?.origins.some(isMade) === true),
    ofInstance: (uid) => known.filter(({ instanceUid }) => instanceUid === uid),
    [Symbol.dispose]() {
      grantChanges?.[Symbol.dispose]();
      following[Symbol.dispose]();
    },
  };
}

const revocationOf = (known: IssuedCertificate | undefined) =>
  known?.revokedAt === undefined ? {} : { revokedAt: known.revokedAt };

const nameOf = ({ issuedTo }: CertificateHolder): string =>
  issuedTo === undefined ? "the virtual cluster" : `the ${issuedTo.owner.kind} ${JSON.stringify(issuedTo.owner.name)}`;
