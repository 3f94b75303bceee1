// Adds tokens to Secrets of type service-account-token, and deletes those whose ServiceAccount is gone.
// Source: k8s.io/kubernetes/pkg/controller/serviceaccount/tokens_controller.go

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { lineageOn } from "@postern/apiserver/authentication/credential-lineage";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { ResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { followView } from "@postern/apiserver/cache/view-informer";
import {
  deleteControlled,
  ignoringConflicts,
  readControlled,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import {
  ACCOUNT_NAME_ANNOTATION,
  ACCOUNT_UID_ANNOTATION,
  SECRET_TOKEN_TYPE,
  tokenIn,
} from "../../service-accounts/secret-token.ts";
import type { ServiceAccountTokens } from "../../service-accounts/service-account-tokens.ts";
import type { RootAuthority } from "../namespace-objects/namespace-objects.ts";

export type TokenSecretDeps = {
  readonly secrets: ControlledResource;
  readonly accounts: ControlledResource;
  readonly tokens: Pick<ServiceAccountTokens, "issueForSecret" | "isOutdated" | "onKeysChange">;
  /** Absent: Secrets have no CA. */
  readonly rootAuthority?: RootAuthority | undefined;
};

export function createTokenSecretController(
  port: Omit<ControllerPort, "resources">,
  { secrets, accounts, tokens, rootAuthority }: TokenSecretDeps,
): Controller {
  const { scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "serviceaccount_tokens_secret", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const secret = secrets.view.get(key)?.decode();
    if (secret === undefined || secret["type"] !== SECRET_TOKEN_TYPE || isBeingDeleted(secret)) return;
    await ignoringConflicts(async () => {
      const account = await accountOf(secret, signal);
      if (account === undefined) await deleteControlled(port, secrets, secret, signal);
      else if (secret["immutable"] !== true && !isAsWanted(secret, account)) {
        const transform = (current: KubeObject): KubeObject => filled(current, account);
        await updateControlled(port, secrets, secret, { transform }, signal);
      }
    });
  }

  /** Looked up in memory, and in the store before it counts as gone: a deletion cannot be undone. */
  async function accountOf({ metadata }: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const { namespace = "", annotations = {} } = metadata;
    const name = annotations[ACCOUNT_NAME_ANNOTATION] ?? "";
    const uid = annotations[ACCOUNT_UID_ANNOTATION] ?? "";
    const isSame = (account: KubeObject): boolean => uid === "" || account.metadata.uid === uid;
    const known = accounts.view.get(accounts.keys.of(namespace, name))?.decode();
    if (known !== undefined && isSame(known)) return known;
    const account = await readControlled(port, accounts, { metadata: { namespace, name } }, signal);
    return account !== undefined && isSame(account) ? account : undefined;
  }

  const entriesOf = (namespace: string): Record<string, string> => ({
    ...(rootAuthority?.pem === undefined ? {} : { "ca.crt": toBase64(rootAuthority.pem) }),
    namespace: toBase64(namespace),
  });

  function isAsWanted(secret: KubeObject, account: KubeObject): boolean {
    const { namespace = "", annotations = {} } = secret.metadata;
    if (annotations[ACCOUNT_UID_ANNOTATION] !== account.metadata.uid || usableTokenIn(secret) === undefined)
      return false;
    const data = dataOf(secret);
    return Object.entries(entriesOf(namespace)).every(([entry, value]) => data[entry] === value);
  }

  /** A token whose key has gone is replaced: no client could use it any more. */
  function usableTokenIn(secret: KubeObject): string | undefined {
    const token = tokenIn(secret);
    return token === undefined || tokens.isOutdated(token) ? undefined : token;
  }

  function filled(secret: KubeObject, { metadata: { name = "", uid = "" } }: KubeObject): KubeObject {
    const { namespace = "", name: secretName = "", annotations } = secret.metadata;
    const token =
      usableTokenIn(secret) ??
      tokens.issueForSecret({ namespace, account: { name, uid }, secretName, lineage: lineageOn(secret) });
    return {
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...annotations, [ACCOUNT_UID_ANNOTATION]: uid } },
      data: { ...dataOf(secret), ...entriesOf(namespace), token: toBase64(token) },
    };
  }

  const known = new SecretsByAccount(secrets.keys);
  const look = (secret: CachedObject): void => {
    if (known.put(secret)) queue.add(secret.key);
  };
  const addAll = (): void => {
    for (const key of known.all()) queue.add(key);
  };
  const changes = rootAuthority?.onChange(addAll);
  const following = [
    ...(changes === undefined ? [] : [changes]),
    tokens.onKeysChange(addAll),
    followView({ view: secrets.view, prefix: secrets.keys.prefix }, scheduler, {
      replace(content) {
        known.clear();
        for (const secret of content) look(secret);
      },
      put: look,
      delete: (secret) => known.delete(secret.key),
    }),
    followView({ view: accounts.view, prefix: accounts.keys.prefix }, scheduler, {
      replace: addAll,
      delete({ key }) {
        const { namespace, name } = accounts.keys.parse(key);
        for (const secret of known.of(namespace, name)) queue.add(secret);
      },
    }),
  ];
  return createQueueController(queue, following);
}

const MARK = Buffer.from(JSON.stringify(SECRET_TOKEN_TYPE));
const readAccount = createMemberReader({ type: true, metadata: { annotations: true } });

/** The keys of Secrets with tokens, by their ServiceAccounts: most Secrets are others, and may be large. */
class SecretsByAccount {
  readonly #keys: ResourceKeys;
  readonly #byAccount = new Map<string, Set<string>>();
  readonly #accounts = new Map<string, string>();

  constructor(keys: ResourceKeys) {
    this.#keys = keys;
  }

  /** Whether it is one. */
  put(secret: CachedObject): boolean {
    this.delete(secret.key);
    if (!secret.mayHave(MARK)) return false;
    const { type, metadata } = secret.read(readAccount) as Pick<KubeObject, "metadata"> & { readonly type?: string };
    if (type !== SECRET_TOKEN_TYPE) return false;
    const { namespace } = this.#keys.parse(secret.key);
    const account = accountKey(namespace, metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? "");
    const others = this.#byAccount.get(account);
    if (others === undefined) this.#byAccount.set(account, new Set([secret.key]));
    else others.add(secret.key);
    this.#accounts.set(secret.key, account);
    return true;
  }

  delete(key: string): void {
    const account = this.#accounts.get(key);
    if (account === undefined) return;
    this.#accounts.delete(key);
    const others = this.#byAccount.get(account);
    others?.delete(key);
    if (others?.size === 0) this.#byAccount.delete(account);
  }

  of(namespace: string, name: string): readonly string[] {
    return [...(this.#byAccount.get(accountKey(namespace, name)) ?? [])];
  }

  all(): Iterable<string> {
    return this.#accounts.keys();
  }

  clear(): void {
    this.#byAccount.clear();
    this.#accounts.clear();
  }
}

const accountKey = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Its schema has checked that it is a map of texts in base64. */
const dataOf = (secret: KubeObject) => (secret["data"] ?? {}) as { readonly [entry: string]: string };

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");
