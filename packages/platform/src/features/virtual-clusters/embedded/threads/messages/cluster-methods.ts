// The messages between the front and a cluster thread: methods that each offers to the other.

import type { CredentialLineage, LineageVerdict } from "@postern/apiserver/authentication/credential-lineage";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  ResolvedRules,
} from "@postern/apiserver/authorization/authorizer";
import type { WebhookCall } from "@postern/apiserver/metrics/webhook-metrics";
import type { ListOptions, Revision, StoredEntry } from "@postern/apiserver/storage/storage";
import type { ApiAddress } from "@postern/kubernetes/controllers/api-service/api-service-controller";
import { serviceAccountKeyFromPem } from "@postern/kubernetes/service-accounts/service-account-key";
import { authorityFromPem } from "../../../../../foundation/pki/certificate-authority.ts";
import type { SpaceMetadata } from "../../../space-metadata.ts";
import type { ClusterSecrets } from "../../cluster-secrets.ts";
import type { ClusterSettings } from "../../embedded-cluster.ts";
import type { AuditCall, CredentialMessage } from "./request-messages.ts";
import type { PackedRequest, PackedResponse } from "./request-wire.ts";
import type { PackedEvents, PackedList } from "./wire-bytes.ts";
import type { WireError } from "./wire-errors.ts";

/** One cluster, by the uid of its instance. */
type OfCluster = { readonly uid: string };
/** One request, by a number that the front gave it. */
type OfRequest = { readonly request: number };
/** One watch of the store, by a number that the thread gave it. */
type OfWatch = { readonly watch: number };

/** Where clusters are reached; the same for all. */
export type EndpointMessage = {
  readonly authorityPem: string | undefined;
  readonly address: ApiAddress | undefined;
};

/** In PEM; the first of each kind signs. */
export type SecretsMessage = {
  readonly authorities: readonly { readonly certificatePem: string; readonly privateKeyPem: string }[];
  readonly serviceAccountKeys: readonly string[];
};

export const secretsMessage = ({ authorities, serviceAccountKeys }: ClusterSecrets): SecretsMessage => ({
  authorities: authorities.map(({ certificatePem, privateKeyPem }) => ({ certificatePem, privateKeyPem })),
  serviceAccountKeys: serviceAccountKeys.map(({ signingKey }) =>
    signingKey.export({ type: "pkcs8", format: "pem" }).toString(),
  ),
});

/** Throws for a message without an authority or a key. */
export function readSecretsMessage({ authorities, serviceAccountKeys }: SecretsMessage): ClusterSecrets {
  const [first, ...others] = authorities.map(({ certificatePem, privateKeyPem }) =>
    authorityFromPem(certificatePem, privateKeyPem),
  );
  const [firstKey, ...otherKeys] = serviceAccountKeys.map(serviceAccountKeyFromPem);
  if (first === undefined || firstKey === undefined) throw new Error("a cluster needs a CA and a key");
  return { authorities: [first, ...others], serviceAccountKeys: [firstKey, ...otherKeys] };
}

export type OpenMessage = OfCluster & {
  /** Number of the cluster in the memory that the watchdog reads. */
  readonly slot: number;
  readonly secrets: SecretsMessage;
  readonly settings: ClusterSettings;
};

export type AuthenticationMessage = {
  readonly user: UserInfo;
  readonly credential: CredentialMessage | undefined;
  readonly audiences: readonly string[] | undefined;
};

/** Work queues with one name, since the last message. */
export type QueueMessage = {
  readonly name: string;
  readonly depth: number;
  readonly running: readonly number[];
  readonly added: number;
  readonly retried: number;
  readonly waits: readonly number[];
  readonly works: readonly number[];
};

export type ThreadCalls = {
  readonly open: { readonly args: OpenMessage; readonly result: undefined };
  readonly stop: { readonly args: OfCluster; readonly result: undefined };
  readonly request: { readonly args: PackedRequest; readonly result: PackedResponse };
  readonly authenticate: {
    readonly args: OfCluster & { readonly token: string };
    readonly result: AuthenticationMessage | undefined;
  };
  readonly applyObjects: { readonly args: OfCluster & { readonly text: string }; readonly result: undefined };
  readonly bindRoles: {
    readonly args: OfCluster & { readonly clusterRoles: readonly string[] };
    readonly result: undefined;
  };
  readonly keepNamespace: {
    readonly args: OfCluster & { readonly name: string; readonly metadata: SpaceMetadata };
    readonly result: undefined;
  };
  readonly idle: { readonly args: OfCluster; readonly result: undefined };
};

export type ThreadNotes = {
  readonly settings: OfCluster & { readonly settings: ClusterSettings };
  readonly secrets: OfCluster & { readonly secrets: SecretsMessage };
  readonly endpoint: EndpointMessage;
  /** The front takes the parts of a stream from now on. */
  readonly run: OfRequest;
  /** The client has taken so many bytes of a stream. */
  readonly taken: OfRequest & { readonly bytes: number };
  /** The client went away, or may not see more. */
  readonly halt: OfRequest & { readonly reason: WireError };
  readonly socketData: OfRequest & { readonly bytes: Uint8Array };
  readonly socketClosed: OfRequest;
  readonly events: OfWatch & { readonly events: PackedEvents | undefined; readonly revision: Revision };
  readonly watchFailed: OfWatch & { readonly error: WireError };
  /** Asks for `credentialRevoked` when the token is not valid any more. */
  readonly watchToken: OfCluster & { readonly id: number; readonly token: string };
  readonly unwatchToken: { readonly id: number };
};

type OfKey = OfCluster & { readonly key: string };

export type FrontCalls = {
  readonly get: { readonly args: OfKey; readonly result: StoredEntry | undefined };
  readonly list: {
    readonly args: OfCluster & { readonly prefix: string; readonly options: Omit<ListOptions, "signal"> };
    readonly result: PackedList;
  };
  readonly create: { readonly args: OfKey & { readonly value: Uint8Array }; readonly result: Revision };
  readonly update: {
    readonly args: OfKey & { readonly value: Uint8Array; readonly expected: Revision };
    readonly result: Revision;
  };
  readonly delete: { readonly args: OfKey & { readonly expected: Revision }; readonly result: Revision };
  readonly checkRoom: {
    readonly args: OfKey & { readonly value: Uint8Array; readonly kind: "create" | "update" };
    readonly result: undefined;
  };
  /** The newest revision, which the watch of the cluster reports soon. */
  readonly currentRevision: { readonly args: OfCluster; readonly result: Revision };
  readonly body: { readonly args: OfRequest & { readonly limitBytes: number }; readonly result: Uint8Array };
  readonly authorize: {
    readonly args: OfRequest & { readonly attributes: Omit<AuthorizationAttributes, "credential"> };
    readonly result: AuthorizationDecision;
  };
  readonly narrowRules: {
    readonly args: OfRequest & { readonly rules: ResolvedRules; readonly namespace: string };
    readonly result: ResolvedRules;
  };
  /** Resolves with a number for `endTurn`. */
  readonly takeTurn: { readonly args: OfRequest; readonly result: number };
  /** Resolves when the request has its place again, after `inside`. */
  readonly outside: { readonly args: OfRequest & { readonly id: number }; readonly result: undefined };
  readonly judgeLineage: { readonly args: { readonly lineage: CredentialLineage }; readonly result: LineageVerdict };
  /** As the first thread that serves requests has it for the others. */
  readonly holdLimits: { readonly args: readonly string[]; readonly result: number };
  readonly certificateSigned: {
    readonly args: OfCluster & { readonly pem: string; readonly lineage: CredentialLineage | undefined };
    readonly result: undefined;
  };
};

export type FrontNotes = {
  readonly watch: OfCluster &
    OfWatch & { readonly prefix: string; readonly fromRevision: Revision; readonly withPrevious: boolean };
  readonly unwatch: OfWatch;
  /** An empty one ends the writing side of a taken connection. */
  readonly chunk: OfRequest & { readonly bytes: Uint8Array };
  /** The stream or upgraded connection has ended. */
  readonly end: OfRequest & { readonly error: WireError | undefined };
  readonly accept: OfRequest;
  readonly closeSocket: OfRequest;
  /** Comes before the error of a request that fails, and with what its stream notes. */
  readonly noted: OfRequest & { readonly audit: readonly AuditCall[]; readonly warnings: readonly string[] };
  readonly endTurn: OfRequest & { readonly id: number };
  readonly inside: OfRequest & { readonly id: number };
  readonly credentialRevoked: { readonly id: number };
  readonly failed: { readonly error: WireError; readonly subject: string };
  readonly queues: readonly QueueMessage[];
  readonly webhookAsked: WebhookCall;
  readonly webhookFailedOpen: { readonly type: WebhookCall["type"] };
  readonly overBudget: undefined;
  readonly releaseLimits: number;
};
