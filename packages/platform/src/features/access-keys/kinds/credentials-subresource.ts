// `credentials` below users, teams, access keys and virtual clusters: all valid credentials with their parents, and their revocation together with
// all descendants.

import { type CredentialLedger, credentialLedgerSchema } from "@postern/api/credential-ledger";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { forbiddenError, invalidError, notFoundFieldError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { IssuedCertificate } from "../../certificates/issued-certificate.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { GatherUses } from "../last-use/periodic-writer.ts";
import { certificateEntry, type EntryDeps, idOfCertificate, keyEntry } from "./credential-entries.ts";

export type CredentialSubject = {
  readonly keys: readonly AccessKeyState[];
  readonly certificates: readonly IssuedCertificate[];
};

export type CredentialsDeps = EntryDeps & {
  readonly gatherUses: GatherUses;
  /** Disables a key on the server's own account. */
  readonly disableKey: (key: AccessKeyState) => Promise<void>;
};

const KIND = "CredentialLedger";
const AUDIT_REVOKED = "revoked-credentials";
/** The IDs may be more than a text of an audit event has room for. */
const AUDIT_REVOKED_COUNT = "revoked-credentials-count";
/** Writes that go into one commit of the store. */
const AT_ONCE = 64;

/** `subjectOf` gives what belongs to the object of the path; it throws 404 where the caller does not see that object. */
export function credentialsSubresource(
  subjectOf: (context: RequestContext) => CredentialSubject | Promise<CredentialSubject>,
  deps: CredentialsDeps,
): Subresource {
  const { names, keys, certificates, disableKey, gatherUses } = deps;
  const kind = { group: names.managementGroup, version: "v1", kind: KIND };

  /** With everything that was made with it. */
  async function liveOf(context: RequestContext): Promise<CredentialSubject> {
    await keys.whenRead();
    const subject = await subjectOf(context);
    const foundKeys = new Map<string, AccessKeyState>();
    const foundCertificates = new Map<string, IssuedCertificate>();
    const addCertificate = (certificate: IssuedCertificate): void => {
      const { serial, instanceUid } = certificate;
      const isAccepted =
        certificates.refusalOf(serial, instanceUid) === undefined || certificates.isAcceptedElsewhere(certificate);
      if (isAccepted) foundCertificates.set(serial, certificate);
    };
    const seen = new Set<string>();
    const add = (key: AccessKeyState): void => {
      if (seen.has(key.uid)) return;
      seen.add(key.uid);
      // Clusters may still accept certificates that were created with a refused key.
      if (keys.refusalOf(key) === undefined) foundKeys.set(key.uid, key);
      for (const certificate of certificates.childrenOf(key.uid)) addCertificate(certificate);
      for (const child of keys.childrenOf(key.uid)) add(child);
    };
    const sorted = [...subject.keys].sort((a, b) => (a.name < b.name ? -1 : 1));
    const isRoot = ({ parentUids }: AccessKeyState): boolean => parentUids.length === 0;
    for (const key of [...sorted.filter(isRoot), ...sorted]) add(key);
    for (const certificate of subject.certificates) addCertificate(certificate);
    return { keys: [...foundKeys.values()], certificates: [...foundCertificates.values()] };
  }

  async function answer(context: RequestContext) {
    const { namespace, name } = context.info;
    const live = await liveOf(context);
    await gatherUses([...live.keys.map(({ uid }) => uid), ...live.certificates.map(({ serial }) => serial)]);
    return {
      apiVersion: `${names.managementGroup}/v1`,
      kind: KIND,
      metadata: { name, ...(namespace === "" ? {} : { namespace }) },
      status: {
        credentials: [
          ...live.keys.map((key) => keyEntry(key, deps)),
          ...live.certificates.map((certificate) => certificateEntry(certificate, deps)),
        ],
      },
    };
  }

  type Found = { readonly key?: AccessKeyState | undefined; readonly certificate?: IssuedCertificate | undefined };

  function chosenIn(live: CredentialSubject, wanted: readonly string[], context: RequestContext): readonly Found[] {
    return wanted.map((id, at) => {
      const key = live.keys.find((candidate) => candidate.id === id);
      const certificate = live.certificates.find(({ serial }) => idOfCertificate(serial) === id);
      // All or nothing: an error in one of them is reported before anything is revoked.
      if (key === undefined && certificate === undefined) {
        throw invalidObjectError(kind, context.info.name, [notFoundFieldError(`spec.revoke[${at}]`, id)]);
      }
      if (certificate?.isVerifiedElsewhere === true) {
        const why = notRevocable(certificate);
        throw invalidObjectError(kind, context.info.name, [invalidError(`spec.revoke[${at}]`, id, why)]);
      }
      return { key, certificate };
    });
  }

  const allIn = (live: CredentialSubject): readonly Found[] => [
    ...live.keys.map((key) => ({ key })),
    ...live.certificates
      .filter(({ isVerifiedElsewhere }) => isVerifiedElsewhere !== true)
      .map((certificate) => ({ certificate })),
  ];

  async function revoke(
    { revoke: wanted = [], all = false }: NonNullable<CredentialLedger["spec"]>,
    context: RequestContext,
  ): Promise<void> {
    if (all && wanted.length > 0) {
      throw invalidObjectError(kind, context.info.name, [forbiddenError("spec.revoke", "must be empty with spec.all")]);
    }
    const live = await liveOf(context);
    const found = all ? allIn(live) : chosenIn(live, wanted, context);
    if (found.length === 0 || isDryRun(createOptionsOf(context.request.query))) return;
    for (let at = 0; at < found.length; at += AT_ONCE) await Promise.all(found.slice(at, at + AT_ONCE).map(end));
    const ids = found.map(({ key, certificate }) => key?.id ?? idOfCertificate(certificate?.serial ?? ""));
    context.audit.annotate(names.key(AUDIT_REVOKED), ids.join(","));
    context.audit.annotate(names.key(AUDIT_REVOKED_COUNT), String(ids.length));
  }

  async function end({ key, certificate }: Found): Promise<void> {
    if (key !== undefined) await disableKey(key);
    if (certificate !== undefined) await certificates.revoke(certificate.serial);
  }

  return {
    name: "credentials",
    kind,
    schema: credentialLedgerSchema,
    description: "All valid credentials: access keys, kubeconfig tokens and certificates.",
    get: answer,
    async create(context, body) {
      // The schema has been checked on the way here.
      await revoke((body as CredentialLedger).spec ?? {}, context);
      return await answer(context);
    },
  };
}

/** Says what holds, and how to proceed. */
const notRevocable = ({ notAfter }: IssuedCertificate): string =>
  `cannot be revoked: it is valid until ${formatTimestamp(notAfter)} in the cluster itself, which verifies it without asking the platform. ` +
  "Remove the permissions of its subject there, or replace the client CA of the cluster. Before: use a shorter spec.certificateTTL, or kubeconfigs with tokens";
