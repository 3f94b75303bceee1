// Recordings of exec and attach into the pods of connected and external clusters, as projects and clusters ask for them.

import { hostname } from "node:os";
import { MANAGEMENT } from "@postern/api/platform-names";
import { type RecordingMode, strictestRecording } from "@postern/api/session-recording";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { asError } from "@postern/apimachinery/steps/caught";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import { webSocketProtocols } from "@postern/apiserver/request/credentials";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { createInternalRecords, createInternalValues } from "../../foundation/encryption/internal-records.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { labelledCounter } from "../../foundation/metrics/counters.ts";
import { systemErrorCode } from "../../foundation/pki/private-file.ts";
import { repeat } from "../../foundation/store/repeat.ts";
import type { StreamTap } from "../proxy/stream-tap.ts";
import { RecordedStreams, unrecordedProtocolError } from "./recorded-streams.ts";
import { RecordingsFullError } from "./recording-file.ts";
import { type OpenRecording, openRecordingsDirectory, type RecordingsDirectory } from "./recordings-directory.ts";
import { aboutSession, projectOwner, type SessionPlace } from "./session-about.ts";
import { type RecordingFaultReason, SessionRecorder } from "./session-recorder.ts";

export type SessionRecordings = Disposable & {
  /** Undefined: no directory is configured. */
  readonly directory: RecordingsDirectory | undefined;
  /**
   * Answers a request to a remote cluster by `proxy`, through a recording where it is a session that is to have one. Fails with ApiErrors, for a session that
   * must be recorded and cannot be.
   */
  record(
    context: RequestContext,
    place: SessionPlace,
    proxy: (tap?: StreamTap) => Awaitable<ApiResponse>,
  ): Awaitable<ApiResponse>;
};

/** How sessions ended that were to be recorded: for the metric, and in their audit events. */
type RecordingResult = "Complete" | RecordingFaultReason | "NotRecorded" | "Refused" | "Unavailable";

const KEY_RECORD = "session-recordings";
const KEY_BYTES = 32;
const TEND_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
const MIB = 1 << 20;

/** Connections to a pod that are no session in it. Any other is taken for one: a cluster may read `EXEC` as it reads `exec`. */
const NO_SESSIONS: ReadonlySet<string> = new Set(["", "log", "portforward", "proxy"]);
/** Releases before 1.14 have a second path to kubelets. */
const OLD_PROXY = /^\/api\/[^/]+\/proxy\//;
const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Rejects with ConfigurationError where the directory cannot be made. */
export async function openSessionRecordings(base: Foundation): Promise<SessionRecordings> {
  const { configuration, lookup, metrics, names, onError, runtime } = base;
  const { scheduler } = runtime;
  const directory = await openDirectory(base);
  const count = labelledCounter(
    metrics.registry,
    "postern_session_recordings_total",
    "Sessions that were to be recorded, by result",
    "result",
  );
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [metrics.registry],
      collect() {
        this.set(value());
      },
    });
  gauge(
    "postern_session_recordings_bytes",
    "Size of all recordings of sessions, with what open ones have reserved, as measured last",
    () => directory?.usedBytes ?? 0,
  );
  gauge(
    "postern_session_recordings_limit_bytes",
    "The limit of the size of all recordings of sessions",
    () => limitsOf(configuration.sessionRecording).totalBytes,
  );
  const noteResult = ({ audit }: Pick<RequestContext, "audit">, result: RecordingResult): void => {
    count(result);
    audit.annotate(names.key("session-recording-result"), result);
  };

  const refuse = (context: RequestContext, error: ApiError, result: RecordingResult = "Refused"): never => {
    noteResult(context, result);
    throw error;
  };

  async function recorded(
    context: RequestContext,
    place: SessionPlace,
    settings: { readonly isRequired: boolean; readonly input: boolean },
    proxy: (tap?: StreamTap) => Awaitable<ApiResponse>,
  ): Promise<ApiResponse> {
    const recording = await create(context, place, settings.isRequired);
    if (recording === undefined) return await proxy();
    let isBegun = false;
    try {
      const response = await proxy(tapOf(context, place, recording, settings));
      isBegun = response.status === 101;
      return response;
    } finally {
      if (!isBegun) await recording.discard().catch((error: unknown) => onError(error, SUBJECT));
    }
  }

  async function create(
    context: RequestContext,
    place: SessionPlace,
    isRequired: boolean,
  ): Promise<OpenRecording | undefined> {
    let why: string;
    try {
      if (directory === undefined) why = "the server has no --session-recording-dir";
      else {
        const about = aboutSession(context, place, hostname());
        const owner = ownerOf(context, place);
        return await directory.create({
          auditId: context.audit.auditId,
          startedAt: context.receivedAt,
          about,
          owner,
        });
      }
    } catch (error) {
      if (error instanceof RecordingsFullError) {
        why =
          "the recordings of this user, or of this project, have reached their share of --session-recording-max-total-mib";
      } else {
        why = `their directory cannot be written (${systemErrorCode(error) ?? "unknown error"})`;
        onError(error, SUBJECT);
      }
    }
    if (isRequired) refuse(context, unavailableError(why), "Unavailable");
    noteResult(context, "NotRecorded");
    return undefined;
  }

  /** kubectl falls back to SPDY after each refusal, and shows the last one: it has to be the one with the cause. */
  async function refuseProtocol(context: RequestContext, place: SessionPlace): Promise<never> {
    const recording = await create(context, place, true);
    await recording?.discard();
    return refuse(context, unrecordedProtocolError());
  }

  function tapOf(
    context: RequestContext,
    { project = "", instance = "", cluster }: SessionPlace,
    recording: OpenRecording,
    { isRequired, input }: { readonly isRequired: boolean; readonly input: boolean },
  ): StreamTap {
    const { info, request, receivedAt } = context;
    const where = [project, instance || cluster, info.namespace, info.name].filter((part) => part !== "").join("/");
    const command = request.query.getAll("command").join(" ");
    const recorder = new SessionRecorder({
      recording,
      header: {
        timestamp: Math.floor(receivedAt / 1000),
        title: `${context.user.name}: ${info.subresource} ${where}`,
        ...(command === "" ? {} : { command: command.slice(0, MAX_COMMAND_LENGTH) }),
      },
      maxBytes: configuration.sessionRecording.maxMiB * MIB,
      isRequired,
      runtime,
    });
    const onEnd = async (): Promise<void> => {
      const { sha256, fault } = await recorder.finish();
      if (fault?.reason === "WriteFailed") onError(asError(fault.cause), SUBJECT);
      context.audit.annotate(names.key("session-recording"), recording.name);
      context.audit.annotate(names.key("session-recording-sha256"), sha256);
      noteResult(context, fault?.reason ?? "Complete");
    };
    const asksForProtocol = webSocketProtocols(request).length > 0;
    return new RecordedStreams({ recorder, isRequired, input, asksForProtocol, scheduler, onEnd });
  }

  const modeAt = ({ project, cluster }: SessionPlace): { readonly mode: RecordingMode; readonly input: boolean } =>
    strictestRecording([
      project === undefined ? undefined : lookup.project(project)?.spec?.sessionRecording,
      cluster === "" ? undefined : lookup.cluster(cluster)?.spec?.sessionRecording,
    ]);

  const tending = directory && repeatedTending(base, directory);
  return {
    directory,
    record(context, place, proxy) {
      const { info, request } = context;
      const isKubelet = (info.resource === "nodes" && info.subresource === "proxy") || OLD_PROXY.test(info.path);
      if (!isKubelet && (info.resource !== "pods" || NO_SESSIONS.has(info.subresource))) return proxy();
      const { mode, input } = modeAt(place);
      if (mode === "Off") return proxy();
      const isRequired = mode === "Required";
      const { upgrade } = request;
      if (isKubelet) {
        // The kubelet executes commands as well, without a word of exec to us.
        const isRead = upgrade === undefined && READS.has(request.method);
        return isRead || !isRequired ? proxy() : refuse(context, kubeletError());
      }
      // Without an upgrade there is no session.
      if (upgrade === undefined) return proxy();
      if (upgrade.protocol.toLowerCase() === "websocket") {
        return recorded(context, place, { isRequired, input }, proxy);
      }
      if (isRequired) return refuseProtocol(context, place);
      noteResult(context, "NotRecorded");
      return proxy();
    },
    [Symbol.dispose]: () => tending?.[Symbol.dispose](),
  };
}

const SUBJECT = "session recordings";

/** The share is that of the caller: the right to impersonate others gives no more room. */
const ownerOf = ({ caller }: RequestContext, { project, cluster }: SessionPlace) => ({
  project: project === undefined ? `cluster:${cluster}` : projectOwner(project),
  user: caller.name,
});

const MAX_COMMAND_LENGTH = 1024;

async function openDirectory({
  configuration: { sessionRecording },
  storage,
  keyRing,
  runtime: { clock, random },
}: Foundation): Promise<RecordingsDirectory | undefined> {
  const { dir } = sessionRecording;
  if (dir === "") return undefined;
  const records = createInternalRecords({ storage, sealedValues: createInternalValues(keyRing, random) }, MANAGEMENT);
  const made = { key: Buffer.from(random.bytes(KEY_BYTES)).toString("base64url") };
  const { key } = (await records.read(KEY_RECORD)) ?? (await records.create(KEY_RECORD, made));
  return await openRecordingsDirectory({
    path: dir,
    key: Buffer.from(String(key), "base64url"),
    limits: limitsOf(sessionRecording),
    clock,
    random,
  });
}

const limitsOf = ({ maxTotalMiB, maxAgeDays }: Configuration["sessionRecording"]) => ({
  totalBytes: maxTotalMiB * MIB,
  maxAgeMs: maxAgeDays * DAY_MS,
});

function repeatedTending({ runtime: { scheduler }, onError }: Foundation, directory: RecordingsDirectory): Disposable {
  const report = (error: unknown): void => onError(error, SUBJECT);
  void directory.tend().catch(report);
  return repeat({ scheduler, everyMs: TEND_EVERY_MS, work: () => directory.tend(), onError: report });
}

const unavailableError = (why: string): ApiError =>
  new ApiError({
    code: 503,
    reason: "ServiceUnavailable",
    message: `sessions here must be recorded, and cannot be: ${why}. An administrator of the platform has to make it possible`,
    details: { causes: [{ reason: "RecordingUnavailable", message: why }] },
  });

const kubeletError = (): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message:
      "forbidden: sessions here must be recorded, and those through the proxy of a node cannot be: use exec or attach of the pod",
    details: { causes: [{ reason: "RecordingRequired", message: "the request is not recorded" }] },
  });
