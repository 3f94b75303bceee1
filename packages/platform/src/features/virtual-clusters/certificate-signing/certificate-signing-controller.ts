// Signs approved requests, and removes obsolete ones.
// Source: k8s.io/kubernetes/pkg/controller/certificates/{signer/signer.go,cleaner/cleaner.go}

import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { deleteControlled, ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import {
  type CertificateSigningRequest,
  conditionsOf,
} from "@postern/kubernetes/builtin/certificates/certificate-signing-request";
import { asRequest, awaitsSigning, type RequestSigner } from "./request-signer.ts";

const HOUR_MS = 3_600_000;
/** How long a request is kept after its creation (pending) or its decision. */
const DECIDED_MS = HOUR_MS;
const PENDING_MS = 24 * HOUR_MS;

export function createCertificateSigningController(
  port: Omit<ControllerPort, "resources">,
  requests: ControlledResource,
  signer: RequestSigner,
): Controller {
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "certificate", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = requests.view.get(key);
    if (object === undefined) return;
    const request = asRequest(object.decode());
    const { name = "" } = request.metadata;
    if (awaitsSigning(request)) return await ignoringConflicts(() => signer.sign(name, signal));
    const endsAt = expirationOf(request);
    if (endsAt > clock.now()) return queue.addAfter(key, endsAt - clock.now());
    await ignoringConflicts(() => deleteControlled(port, requests, request, signal));
  }

  const following = followKeys(requests, scheduler, (key) => queue.add(key));
  return createQueueController(queue, [following]);
}

/** Milliseconds since the epoch after which a request is deleted. */
function expirationOf(request: CertificateSigningRequest): number {
  const decisions = conditionsOf(request).map(({ lastUpdateTime }) => parseTimestamp(lastUpdateTime ?? "") ?? 0);
  if (decisions.length > 0) return Math.max(...decisions) + DECIDED_MS;
  return (parseTimestamp(request.metadata.creationTimestamp ?? "") ?? 0) + PENDING_MS;
}
