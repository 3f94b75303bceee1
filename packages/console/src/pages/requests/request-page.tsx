// One access request: what is asked for and why, its approvals, and the decisions on it.

import type { AccessApproval, AccessDecision, AccessRequest } from "@postern/api/access-request";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { ACCESS_REQUESTS, CLUSTER_ROLES, type ClusterRole, managementVersion, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { ListLink, ObjectPage } from "../../components/object-page.tsx";
import { PageHead, Section } from "../../components/page-head.tsx";
import { TextField } from "../../components/text-field.tsx";
import { Time } from "../../components/time.tsx";
import { duration } from "../../format/ages.ts";
import { sentence, t } from "../../texts/text.tsx";
import { aboutRole, roleName } from "../access/role-name.ts";
import { Rules } from "../access/role-page.tsx";
import { decidersOf, decisionsOf, placeText, requestTitle, shownPhase } from "./request-state.ts";
import { PhaseBadge } from "./requests-page.tsx";

export function RequestPage() {
  const { name = "" } = useParams({ strict: false });
  return (
    <ObjectPage<AccessRequest> kind="request" address={ACCESS_REQUESTS} name={name}>
      {(request) => <RequestView request={request} />}
    </ObjectPage>
  );
}

function RequestView({ request }: { readonly request: AccessRequest }) {
  const { spec, status = {}, metadata } = request;
  const { virtualCluster, project } = spec.target;
  const phase = shownPhase(request);
  const { approvals = [] } = status;
  return (
    <>
      <PageHead
        above={<ListLink kind="request" />}
        title={requestTitle(request)}
        lead={spec.reason}
        actions={<Decisions request={request} />}
      />
      <div className="card">
        <DescriptionList
          items={[
            [t("requests.column.phase"), <PhaseBadge key="phase" request={request} />],
            [t("requests.column.requester"), <UserLink key="requester" name={status.requester?.user ?? ""} />],
            [
              t("request.place"),
              virtualCluster === undefined || project === undefined ? (
                placeText(spec)
              ) : (
                <Link key="place" to="/clusters/$project/$name" params={{ project, name: virtualCluster }}>
                  {placeText(spec)}
                </Link>
              ),
            ],
            ...(spec.role === undefined ? [] : [[t("request.role"), <code key="role">{spec.role}</code>] as const]),
            [t("requests.column.duration"), duration(Number(status.durationSeconds ?? 0))],
            [
              t(`request.time.${timeShown(phase)}`),
              <Time key="ends" at={status.endedTimestamp ?? status.expirationTimestamp} otherwise="–" />,
            ],
            ...(decidersOf(request) === "" ? [] : [[t("requests.column.decided"), decidersOf(request)] as const]),
            [t("request.policy"), <code key="policy">{spec.policy.name}</code>],
            [t("request.name"), <code key="name">{nameOf(request)}</code>],
            [t("requests.column.asked"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
          ]}
        />
      </div>
      <Allowed request={request} />
      {status.message !== undefined && status.message !== "" && <p className="muted">{sentence(status.message)}</p>}
      <Section
        title={t("request.approvals")}
        lead={t("request.approvals.lead", { count: approvals.length, all: Number(status.requiredApprovals ?? 1) })}
      >
        {approvals.length === 0 ? (
          <p className="muted">{t("request.approvals.none")}</p>
        ) : (
          <ul className="lines card">
            {approvals.map((approval) => (
              <Approval key={approval.userUID} approval={approval} />
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}

/** `ended` also for what was denied, withdrawn or revoked. */
const timeShown = (phase: string): "until" | "ends" | "ended" =>
  phase === "Pending" ? "until" : phase === "Approved" ? "ends" : "ended";

function UserLink({ name }: { readonly name: string }) {
  return (
    <Link to="/users/$name" params={{ name }}>
      {name}
    </Link>
  );
}

/** The rights that the request gives. Rules of a role inside a virtual cluster are in that cluster, so it only names it. */
function Allowed({ request: { spec, status } }: { readonly request: AccessRequest }) {
  const { role, target } = spec;
  const isOfProject = role !== undefined && target.virtualCluster === undefined && target.cluster === undefined;
  const right = useMay({
    verb: "list",
    group: "rbac.authorization.k8s.io",
    resource: "clusterroles",
    name: role ?? "",
  });
  const [object] = useLive<ClusterRole>(CLUSTER_ROLES, {
    fieldSelector: `metadata.name=${role ?? ""}`,
    isWanted: isOfProject && right.isAllowed,
  }).items;
  const about = isOfProject ? aboutRole(role) : undefined;
  return (
    <Section
      title={t("request.allows")}
      lead={t("request.allows.lead", {
        user: status?.requester?.user ?? "",
        role: role === undefined ? t("requests.use") : roleName(role),
        place: placeText(spec),
        duration: duration(Number(status?.durationSeconds ?? 0)),
      })}
    >
      {about !== undefined && <p>{about}</p>}
      {about === undefined && object !== undefined && <Rules rules={object.rules ?? []} />}
      {role !== undefined && !isOfProject && <p className="muted">{t("request.allows.inside", { role })}</p>}
    </Section>
  );
}

function Approval({ approval: { user, message = "", time } }: { readonly approval: AccessApproval }) {
  return (
    <li>
      <span className="two-lines">
        <strong>{user}</strong>
        <span className="muted">{message}</span>
      </span>
      <span className="muted">
        <Time at={time} otherwise="" />
      </span>
    </li>
  );
}

const DANGEROUS: readonly AccessDecision[] = ["Deny", "Revoke"];

function Decisions({ request }: { readonly request: AccessRequest }) {
  const { client, session } = useApi();
  const [asked, setAsked] = useState<AccessDecision>();
  const [message, setMessage] = useState("");
  const close = (): void => {
    setAsked(undefined);
    setMessage("");
  };
  const decide = async (decision: AccessDecision): Promise<void> => {
    const spec: JsonObject = { decision, ...(message === "" ? {} : { message }) };
    const body = { apiVersion: managementVersion, kind: "AccessApproval", metadata: {}, spec };
    await createResourceClient(client, ACCESS_REQUESTS).createSubresource(nameOf(request), "approval", body);
  };
  const decisions = decisionsOf(request, session.user);
  return (
    <>
      {decisions.map((decision) => (
        <Button
          key={decision}
          kind={DANGEROUS.includes(decision) ? "danger" : decision === "Approve" ? "primary" : "plain"}
          onPress={() => setAsked(decision)}
        >
          {t(`request.${decision}`)}
        </Button>
      ))}
      {decisions.map((decision) => (
        <Confirm
          key={decision}
          isOpen={asked === decision}
          onClose={close}
          isDangerous={DANGEROUS.includes(decision)}
          title={t(`request.${decision}.title`, { user: request.status?.requester?.user ?? "" })}
          action={t(`request.${decision}`)}
          consequences={[
            t(`request.${decision}.effect`, {
              role: request.spec.role === undefined ? t("requests.use") : roleName(request.spec.role),
              place: placeText(request.spec),
              duration: duration(Number(request.status?.durationSeconds ?? 0)),
            }),
          ]}
          onConfirm={() => decide(decision)}
        >
          <TextField label={t("request.message")} value={message} onChange={setMessage} isMultiline />
        </Confirm>
      ))}
    </>
  );
}
