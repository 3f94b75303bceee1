// GET and POST /certificateauthority: the CA of the serving certificate, and the steps of its rotation.

import { ROTATION_ACTIONS } from "@postern/api/certificate-authority";
import { badRequestError, methodNotAllowedError, serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { inTurns } from "@postern/apiserver/runtime/in-slices";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { AccessKeys } from "../features/access-keys/feature.ts";
import type { AuthorityRecord } from "../features/certificate-authorities/authority-record.ts";
import { type Outdated, presentAuthority } from "../features/certificate-authorities/present-authority.ts";
import { PLATFORM } from "../features/certificate-authorities/rotation-states.ts";
import type { CertificateLedger } from "../features/certificates/certificate-ledger.ts";
import type { IssuedCertificate } from "../features/certificates/issued-certificate.ts";
import { outdatedCertificates, withLastUses } from "../features/certificates/outdated-certificates.ts";
import type { VirtualClusters } from "../features/virtual-clusters/feature.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import type { Foundation } from "../foundation/foundation.ts";
import type { ManagementRoute } from "../foundation/http/feature-route.ts";
import { readJsonBody } from "../foundation/http/read-json-body.ts";
import { outdatedKubeconfigs } from "./outdated-kubeconfigs.ts";
import {
  type AuthorityStore,
  assertOwnAuthority,
  readPlatformAuthority,
  rotatePlatformAuthority,
  secretsInFiles,
} from "./platform-authority.ts";

/** Requires permission to `get` and `post` to it, which administrators have. */
const AUTHORITY_PATH = "/certificateauthority";

const MAX_BODY_BYTES = 4 * 1024;
/** Servers read the record within milliseconds of its event. */
const PATIENCE_MS = 10_000;

/** POST takes `{"action": "Prepare"}`, `Complete` or `Abort`. Both answer with the state; no secret is in it. */
export function authorityRoute(
  base: Foundation,
  needs: {
    readonly keys: AccessKeys;
    readonly certificates: CertificateLedger;
    readonly clusters: Pick<VirtualClusters, "rotations">;
    readonly endpoint: PlatformEndpoint;
  },
): ManagementRoute {
  const { configuration, names, runtime } = base;
  const {
    keys,
    certificates,
    clusters: { rotations },
    endpoint,
  } = needs;
  const store: AuthorityStore = { ...base, random: runtime.random };
  /** Kubeconfigs from before the preparation trust the earlier CA alone: those with certificates, and those whose tokens were used since. */
  async function outdatedOf({ next }: AuthorityRecord): Promise<Outdated> {
    if (next === undefined) return { certificates: { count: 0, used: 0, items: [] } };
    const { preparedAt } = next;
    await keys.gatherUses();
    const isOutdated = ({ issuedAt }: IssuedCertificate): boolean => issuedAt < preparedAt;
    const found = await inTurns(outdatedCertificates(certificates.all(), isOutdated, certificates), runtime.clock);
    await keys.index.whenRead();
    return {
      certificates: await inTurns(withLastUses(found, preparedAt, certificates), runtime.clock),
      accessKeys: await inTurns(outdatedKubeconfigs(preparedAt, keys), runtime.clock),
    };
  }
  const answer = async (record: AuthorityRecord) =>
    jsonResponse(
      200,
      JSON.stringify(
        // The serving certificate is signed by the current CA until the rotation is complete.
        presentAuthority(record, rotations.of(PLATFORM), await outdatedOf(record), "current signs"),
      ),
    );
  const recordNow = async (): Promise<AuthorityRecord> =>
    (await readPlatformAuthority(store)) ?? { current: await secretsInFiles(configuration), generation: 1 };

  const handle: Handler = async ({ request, audit }) => {
    assertOwnAuthority(configuration);
    if (request.method === "GET") return await answer(await recordNow());
    if (request.method !== "POST") throw methodNotAllowedError();
    const wanted = readJsonBody(await request.body(MAX_BODY_BYTES))["action"];
    const action = ROTATION_ACTIONS.find((each) => each === wanted);
    if (action === undefined) throw badRequestError(`action must be one of ${ROTATION_ACTIONS.join(", ")}`);
    audit.annotate(names.key("certificate-authority-rotation"), action);
    const record = await rotatePlatformAuthority(action, configuration, store, runtime, rotations);
    const bundle = record.current.certificate + (record.next?.certificate ?? "");
    await whenServed(bundle, endpoint, runtime);
    return await answer(record);
  };
  return { path: AUTHORITY_PATH, handle };
}

/** Kubeconfigs after the answer have the bundle. Rejects with ApiError 503 where the server does not get so far: its log says why. */
async function whenServed(
  bundle: string,
  endpoint: Pick<PlatformEndpoint, "certificateAuthorityPem" | "onAuthorityChange">,
  { scheduler }: Pick<Runtime, "scheduler">,
): Promise<void> {
  const isServed = (): boolean => endpoint.certificateAuthorityPem === bundle;
  if (isServed()) return;
  await new Promise<void>((resolve, reject) => {
    const end = (settle: () => void): void => {
      timer[Symbol.dispose]();
      followed?.[Symbol.dispose]();
      settle();
    };
    const timer = scheduler.schedule(PATIENCE_MS, () =>
      end(() =>
        reject(serviceUnavailableError("the step is stored, and this server has not taken it yet: see its log")),
      ),
    );
    const followed = endpoint.onAuthorityChange?.(() => {
      if (isServed()) end(resolve);
    });
    if (isServed()) end(resolve);
  });
}
