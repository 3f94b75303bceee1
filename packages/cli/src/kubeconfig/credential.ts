// `postern credentials get`: the credential plugin in kubeconfigs of `postern kubeconfig --exec`, and of controllers that find virtual clusters by their
// ClusterProfiles. kubectl or the controller runs it, so that no file contains a secret. Credentials are cached until shortly before they expire, so that most calls send no request.
// Source: k8s.io/client-go/pkg/apis/clientauthentication/v1/types.go

import { createHash } from "node:crypto";
import { access, constants, lstat, open, readdir, readFile, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createApiClient } from "@postern/client/api-client";
import { replaceFile } from "@postern/client/kubeconfig-file";
import { makeDirectory } from "@postern/client/make-directory";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnectionOptions, withFoundConnection } from "../connection-options.ts";
import { parseDurationSeconds } from "../duration-seconds.ts";
import { type ConnectionFlags, type FoundConnection, findConnection } from "../login/platform-choice.ts";
import { baseDirectory } from "../login/platforms.ts";
import { withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";
import { UsageError } from "../usage-error.ts";
import { endpointOption } from "./endpoint-option.ts";
import { checkDestination, clusterInExecInfo, EXEC_INFO, readExecInfo } from "./exec-cluster.ts";
import { issueKubeconfig, type KubeconfigWay, needsCertificate, withProof } from "./issue-kubeconfig.ts";

type CredentialFlags = ConnectionFlags & {
  readonly project: string;
  readonly namespacePrefix: string;
  readonly ttl: number;
  readonly clientCert?: boolean;
  readonly readOnly?: boolean;
  readonly clusterServer?: string;
  readonly endpoint?: KubeconfigWay;
};

const API_VERSION = "client.authentication.k8s.io/v1";
const HOUR_SECONDS = 3600;
/** A credential is renewed this long before it expires, or when a tenth of its lifetime is left, if that is shorter. */
const MARGIN_MS = 60_000;
const LOCK_PAUSE_MS = 50;
/** Longer than a cluster takes to sign a certificate. A lock of a process that died also expires after this time. */
const LOCK_PATIENCE_MS = 40_000;
const PROBE = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/** `credential` is its name in kubeconfigs of earlier builds (ADR 208). */
export const createCredentialCommand = (name: "get" | "credential", context: CommandContext): Command =>
  withConnectionOptions(
    withNamespacePrefixOption(
      new Command(name)
        .description("print a credential for a virtual cluster, as a kubectl credential plugin (see kubeconfig --exec)")
        .argument(
          "[virtual-cluster]",
          "name of the virtual cluster (default: the one that the caller names in KUBERNETES_EXEC_INFO, of a ClusterProfile)",
        )
        .option("--project <name>", "project of the virtual cluster", "default")
        .option("--ttl <duration>", "TTL of each credential, such as 15m or 12h", parseDurationSeconds, HOUR_SECONDS)
        .option("--cert, --client-cert", "a client certificate instead of a token")
        .option("--read-only", "a read-only credential")
        .option("--cluster-server <url>", "address of the virtual cluster, if it is not the usual one")
        .addOption(endpointOption()),
    ),
  ).action(async (name: string | undefined, flags: CredentialFlags) => {
    const info = readExecInfo(context.environment[EXEC_INFO]);
    const connection = await findConnection(flags, context);
    const print = ({ user, expires }: KeptCredential): void => {
      context.stdout.write(`${JSON.stringify(execCredential(info?.apiVersion ?? API_VERSION, user, expires))}\n`);
    };
    if (name !== undefined) {
      print(await credentialOf(name, flags, connection, context));
      return;
    }
    if (flags.clusterServer !== undefined || flags.endpoint !== undefined)
      throw new UsageError("--cluster-server and --endpoint need the name of a virtual cluster");
    const { project, namespace, virtualCluster } = clusterInExecInfo(info);
    const namespacePrefix = namespace.slice(0, -project.length);
    // The address in a ClusterProfile is always that of the platform.
    const asked = { ...flags, project, namespacePrefix, endpoint: "Platform" as const };
    const credential = await credentialOf(virtualCluster, asked, connection, context);
    checkDestination(info?.cluster ?? {}, credential.cluster, connection.transport.certificateAuthorityPem);
    print(credential);
  });

/**
 * kubectl prints the plugin's stderr as its own. A credential that expires with its access key would warn on every renewal, and
 * kubectl reads the expiry from the response anyway.
 */
const quietFor = (context: CommandContext): CommandContext =>
  isRunByKubectl(context) ? { ...context, stderr: { write: () => true } } : context;

const isRunByKubectl = ({ environment }: CommandContext): boolean => (environment[EXEC_INFO] ?? "") !== "";

/** A cached credential, and the parts needed to test it. */
type KeptCredential = {
  readonly user: JsonObject;
  /** RFC 3339. */
  readonly expires: string | undefined;
  readonly issuedAt: number;
  readonly cluster: JsonObject;
};

async function credentialOf(
  name: string,
  flags: CredentialFlags,
  connection: FoundConnection,
  context: CommandContext,
): Promise<KeptCredential> {
  const { project, namespacePrefix, ttl, clientCert, readOnly, clusterServer, endpoint } = flags;
  const wishes = {
    ttlSeconds: ttl,
    clientCert: needsCertificate(clientCert, connection),
    readOnly,
    clusterServer,
    endpoint,
  };
  const token = connection.token ?? (await connection.workload?.fingerprint());
  const file = join(
    credentialsDirectory(context.environment, {
      transport: connection.transport,
      ...(token === undefined ? {} : { token }),
    }),
    `${digest([namespacePrefix, project, name, ttl, clientCert === true, readOnly === true, clusterServer ?? "", ...(endpoint === undefined ? [] : [endpoint])])}.json`,
  );
  // The private key is read anew each time: the cache has the token alone.
  const proven = (credential: KeptCredential): KeptCredential => ({
    ...credential,
    user: withProof(credential.user, connection),
  });
  const issue = async (): Promise<KeptCredential> => {
    const issued = await withFoundConnection(connection, quietFor(context), (client, group) =>
      issueKubeconfig(client, { group, namespacePrefix, project, virtualCluster: name }, wishes),
    );
    const { cluster, user } = issued.entry;
    return { user, expires: issued.expires, issuedAt: Date.now(), cluster };
  };
  // Many pods have no file system that they may write to. Programs there keep the credential in memory until it expires.
  if (!(await canKeepIn(dirname(file), CACHE_LEVELS))) return proven(await issue());
  return await underLock(`${file}.lock`, async () => {
    const kept = await readKept(file);
    if (kept !== undefined && isFresh(kept) && (await isAccepted(proven(kept), context.environment)))
      return proven(kept);
    const fresh = await issue();
    await removeEnded(dirname(dirname(file)));
    await replaceFile(file, JSON.stringify(fresh));
    return proven(fresh);
  });
}

const CANNOT_WRITE = ["EACCES", "EPERM", "EROFS"];

/** `postern/credentials/<platform>`: the directories of the cache that are this program's own. */
const CACHE_LEVELS = 3;
const WRITABLE_BY_OTHERS = 0o022;

/** Whether files there stay between calls, and no other user can replace them: their credentials and addresses are used. */
async function canKeepIn(directory: string, levels: number): Promise<boolean> {
  try {
    await makeDirectory(directory, 0o700);
    await access(directory, constants.W_OK);
    for (let [level, path] = [0, directory]; level < levels; level++, path = dirname(path))
      if (!(await isOwn(path))) return false;
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && CANNOT_WRITE.includes(String(error.code))) return false;
    throw error;
  }
}

/** Windows has neither owners nor modes here. */
async function isOwn(path: string): Promise<boolean> {
  const own = process.getuid?.();
  if (own === undefined) return true;
  const [entry, target] = await Promise.all([lstat(path), stat(path)]);
  return entry.uid === own && target.uid === own && (target.mode & WRITABLE_BY_OTHERS) === 0;
}

const DAY_MS = 24 * 3600 * 1000;

/** Deletes credentials that have expired, also those that were issued to credentials of the platform that are not used any more. */
async function removeEnded(directory: string): Promise<void> {
  for (const platform of await readdir(directory)) {
    const own = join(directory, platform);
    // Another process may delete the same.
    const files = await readdir(own).catch(() => undefined);
    for (const file of files ?? []) {
      const expires = file.endsWith(".json") ? (await readKept(join(own, file)))?.expires : undefined;
      if (expires !== undefined && Date.parse(expires) < Date.now()) await rm(join(own, file), { force: true });
    }
    const changed = files?.length === 0 ? await stat(own).catch(() => undefined) : undefined;
    const isUnused = changed !== undefined && Date.now() - changed.mtimeMs > DAY_MS;
    // One that is not empty any more stays.
    if (isUnused) await rmdir(own).catch(() => {});
  }
}

/** The cache folder of this credential of the platform: another credential finds none of its files. */
export function credentialsDirectory(
  environment: CommandContext["environment"],
  { transport, token = "" }: Pick<FoundConnection, "transport" | "token">,
): string {
  return join(
    baseDirectory(environment, "XDG_CACHE_HOME", ".cache"),
    "postern",
    "credentials",
    digest([transport.server, token, transport.clientCertificatePem ?? ""]),
  );
}

const digest = (parts: readonly unknown[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);

async function readKept(file: string): Promise<KeptCredential | undefined> {
  try {
    const kept: unknown = JSON.parse(await readFile(file, "utf8"));
    return isJsonObject(kept as JsonObject) ? (kept as KeptCredential) : undefined;
  } catch {
    // Missing, or incomplete after a power failure: request a new one.
    return undefined;
  }
}

function isFresh({ expires, issuedAt }: KeptCredential): boolean {
  if (expires === undefined) return true;
  const end = Date.parse(expires);
  return end - Date.now() > marginOf(end - issuedAt);
}

const marginOf = (lifeMs: number): number => Math.min(MARGIN_MS, lifeMs / 10);

/**
 * kubectl runs the plugin again after a 401, and cannot say so: send a request to the cluster instead. Every other response is
 * for kubectl to show.
 */
async function isAccepted(
  { cluster, user }: KeptCredential,
  proxyEnvironment: CommandContext["environment"],
): Promise<boolean> {
  const pem = (data: unknown): string | undefined =>
    typeof data === "string" ? Buffer.from(data, "base64").toString() : undefined;
  const options = {
    server: String(cluster["server"]),
    certificateAuthorityPem: pem(cluster["certificate-authority-data"]),
    insecureSkipTlsVerify: cluster["insecure-skip-tls-verify"] === true,
    clientCertificatePem: pem(user["client-certificate-data"]),
    clientKeyPem: pem(user["client-key-data"]),
    proxyEnvironment,
  };
  // Members without a value count as absent.
  await using transport = createNodeTransport(options as NodeTransportOptions);
  const { token } = user;
  const client = createApiClient({ transport, ...(typeof token === "string" ? { token } : {}), delay: async () => {} });
  try {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", metadata: {} };
    await client.request({ method: "POST", path: PROBE, body });
    return true;
  } catch (error) {
    return !isApiError(error, "Unauthorized");
  }
}

/** Concurrent kubectl processes share one request. */
async function underLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      await (await open(lock, "wx", 0o600)).close();
      break;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      const age = await stat(lock).then(
        ({ mtimeMs }) => Date.now() - mtimeMs,
        () => 0,
      );
      if (age > LOCK_PATIENCE_MS || Date.now() > deadline) await rm(lock, { force: true });
      else await setTimeout(LOCK_PAUSE_MS);
    }
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** kubectl renews it in time, while it runs. */
function execCredential(apiVersion: string, user: JsonObject, expires: string | undefined): JsonObject {
  const { token, "client-certificate-data": certificate, "client-key-data": key } = user;
  const pem = (data: unknown): string => Buffer.from(String(data), "base64").toString();
  return {
    apiVersion,
    kind: "ExecCredential",
    status: {
      ...(token === undefined ? {} : { token }),
      ...(certificate === undefined ? {} : { clientCertificateData: pem(certificate), clientKeyData: pem(key) }),
      ...(expires === undefined ? {} : { expirationTimestamp: expires }),
    },
  };
}

/** Deletes all credentials that were issued to a credential of the platform. */
export async function forgetCredentials(
  environment: CommandContext["environment"],
  connection: Pick<FoundConnection, "transport" | "token">,
): Promise<void> {
  await rm(credentialsDirectory(environment, connection), { recursive: true, force: true });
}
