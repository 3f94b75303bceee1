// `credentials` below users, teams, access keys and virtual clusters: every credential that is good now, what it was made with, and a
// way to revoke it together with all that was made with it.

import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { notFoundFieldError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { issuedByField } from "../api/issued-by.ts";
import type { IssuedCertificate } from "../certificates/issued-certificate.ts";
import { certificateEntry, type EntryDeps, idOfCertificate, keyEntry } from "./credential-entry.ts";

export type CredentialSubject = {
  readonly keys: readonly AccessKeyState[];
  readonly certificates: readonly IssuedCertificate[];
};

export type CredentialsDeps = EntryDeps & {
  /** Disables a key on the server's own account. */
  readonly disableKey: (key: AccessKeyState) => Promise<void>;
};

const KIND = "CredentialLedger";
const AUDIT_REVOKED = "revoked-credentials";

type Ledger = KindOf<typeof credentialLedgerFields>;

/** `subjectOf` gives what belongs to the object of the path; it throws 404 where the caller does not see that object. */
export function credentialsSubresource(
  subjectOf: (context: RequestContext) => CredentialSubject | Promise<CredentialSubject>,
  deps: CredentialsDeps,
): Subresource {
  const { names, keys, certificates, disableKey } = deps;
  const kind = { group: names.managementGroup, version: "v1", kind: KIND };

  /** With everything that was made with it. */
  async function liveOf(context: RequestContext): Promise<CredentialSubject> {
    await keys.whenRead();
    const subject = await subjectOf(context);
    const foundKeys = new Map<string, AccessKeyState>();
    const foundCertificates = new Map<string, IssuedCertificate>();
    const addCertificate = (certificate: IssuedCertificate): void => {
      const { serial, instanceUid } = certificate;
      if (certificates.refusalOf(serial, instanceUid) === undefined) foundCertificates.set(serial, certificate);
    };
    const add = (key: AccessKeyState): void => {
      if (foundKeys.has(key.uid) || keys.refusalOf(key) !== undefined) return;
      foundKeys.set(key.uid, key);
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

  async function revoke(wanted: readonly string[], context: RequestContext): Promise<void> {
    const live = await liveOf(context);
    const found = wanted.map((id, at) => {
      const key = live.keys.find((candidate) => candidate.id === id);
      const certificate = live.certificates.find(({ serial }) => idOfCertificate(serial) === id);
      // All or nothing: an error in one of them is reported before anything is revoked.
      if (key === undefined && certificate === undefined) {
        throw invalidObjectError(kind, context.info.name, [notFoundFieldError(`spec.revoke[${at}]`, id)]);
      }
      return { key, certificate };
    });
    if (wanted.length === 0 || isDryRun(createOptionsOf(context.request.query))) return;
    for (const { key, certificate } of found) {
      if (key !== undefined) await disableKey(key);
      if (certificate !== undefined) await certificates.revoke(certificate.serial);
    }
    context.audit.annotate(names.key(AUDIT_REVOKED), wanted.join(","));
  }

  return {
    name: "credentials",
    kind,
    schema: kindSchema(credentialLedgerFields.schema),
    description: "All valid credentials: access keys, kubeconfig tokens and certificates.",
    get: answer,
    async create(context, body) {
      // The schema has been checked on the way here.
      await revoke((body as Ledger).spec?.revoke ?? [], context);
      return await answer(context);
    },
  };
}

// The fields of a list of credentials, and of the request to revoke some of them.

const credential = s.object({
  id: s.string().describe("Public ID of an access key, or serial:<serial> of a certificate."),
  kind: s.string().describe("AccessKey or Certificate."),
  name: s.string().describe("Name of the access key."),
  type: s.string().describe("spec.type of the access key."),
  owner: s.string().describe("Owner of the credential, such as user/jane."),
  subject: s.string().describe("Subject of a certificate."),
  virtualCluster: s.string().describe("The virtual cluster, if the credential is valid for this one only."),
  parents: s.list(s.string()).describe("IDs of the access keys that it was created with. It is revoked with them."),
  creationTimestamp: s.timestamp().describe("When it was created."),
  expirationTimestamp: s.timestamp().describe("When it expires. Unset if it never expires."),
  lastActivity: s.timestamp().describe("Last time an access key was used."),
  issuedBy: issuedByField,
});

const credentialLedgerFields = s
  .object({
    spec: s
      .object({
        revoke: s
          .list(s.string())
          .describe(
            "IDs of credentials to revoke. An access key is disabled together with all credentials created with it; a certificate is refused by its serial number.",
          ),
      })
      .describe("What to revoke."),
    status: s
      .object({ credentials: s.list(credential).describe("Credentials, each after the one it was created with.") })
      .describe("Valid credentials. Read-only."),
  })
  .describe("Credentials of an object.");
