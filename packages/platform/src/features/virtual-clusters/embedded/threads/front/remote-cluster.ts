// An embedded cluster that runs in a thread, as the front sees it.

import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { LineageVerifier } from "@postern/apiserver/authentication/credential-lineage";
import { watchFirst } from "@postern/apiserver/authentication/revocation-watch";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { createClusterCertificates } from "../../cluster-certificates.ts";
import { type ClusterSecrets, createLiveSecrets } from "../../cluster-secrets.ts";
import { createClusterUsage } from "../../cluster-usage.ts";
import type { EmbeddedCluster } from "../../embedded-cluster.ts";
import {
  type AuthenticationMessage,
  secretsMessage,
  type ThreadCalls,
  type ThreadNotes,
} from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";

export type RemoteClusterDeps = {
  readonly uid: string;
  readonly secrets: ClusterSecrets;
  readonly thread: Pick<Link<ThreadCalls, ThreadNotes>, "call" | "note">;
  readonly forward: (uid: string, context: RequestContext, user: RequestContext["user"]) => Promise<ApiResponse>;
  /** Calls back once when the token is not valid any more. */
  readonly watchToken: (uid: string, token: string, listener: () => void) => Disposable;
  readonly lineages: LineageVerifier | undefined;
  readonly runtime: Runtime;
  /** Called once. */
  readonly onDisposed: () => void;
};

export function createRemoteCluster(deps: RemoteClusterDeps): EmbeddedCluster {
  const { uid, thread, forward, runtime, onDisposed } = deps;
  const secrets = createLiveSecrets(deps.secrets);
  const usage = createClusterUsage(runtime);
  let isDisposed = false;
  return {
    get authority() {
      return secrets.current.authorities[0];
    },
    setSecrets(next) {
      secrets.replace(next);
      // Behind this message, every token is held against the new keys.
      thread.note("secrets", { uid, secrets: secretsMessage(next) });
    },
    clientCertificates: createClusterCertificates(secrets, runtime),
    serviceAccountTokens: {
      async authenticateToken(token) {
        const message = await thread.call("authenticate", { uid, token });
        return message && authenticationOf(message, token, deps);
      },
    },
    handle: (context, user) => usage.during(() => forward(uid, context, user)),
    applyObjects: (text, signal) => thread.call("applyObjects", { uid, text }, { signal }),
    bindRoles: (clusterRoles, signal) => thread.call("bindRoles", { uid, clusterRoles }, { signal }),
    keepNamespace: (name, metadata, signal) => thread.call("keepNamespace", { uid, name, metadata }, { signal }),
    idleFor: () => usage.idleFor(),
    idle: () => thread.call("idle", { uid }),
    [Symbol.dispose]() {
      if (isDisposed) return;
      isDisposed = true;
      onDisposed();
    },
  };
}

/** The thread knows when the token ends, and the front when its ancestors do. */
function authenticationOf(
  { user, credential, audiences }: AuthenticationMessage,
  token: string,
  { uid, watchToken, lineages }: RemoteClusterDeps,
): Authentication {
  if (credential === undefined) return { user, ...(audiences && { audiences }) };
  const { id, annotations, lineage } = credential;
  return {
    user,
    ...(audiences && { audiences }),
    credential: {
      id,
      ...(annotations && { annotations }),
      ...(lineage && { lineage: () => lineage }),
      onRevoked: watchFirst([
        (listener) => watchToken(uid, token, listener),
        ...(lineage === undefined || lineages === undefined
          ? []
          : [(listener: () => void) => lineages.onRevoked(lineage, listener)]),
      ]),
    },
  };
}
