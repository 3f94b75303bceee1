// One access request: what is asked for and why, its approvals, and the decisions on it.

import type { AccessPolicy } from "@postern/api/access-policy";
import type { AccessApproval, AccessDecision, AccessRequest } from "@postern/api/access-request";
import type { User } from "@postern/api/user";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  ACCESS_POLICIES,
  ACCESS_REQUESTS,
  CLUSTER_ACCESS_POLICIES,
  CLUSTER_ROLES,
  type ClusterRole,
  inNamespace,
  nameOf,
  USERS,
} from "../../api/resources.ts";
import { useLive, useLiveObject } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { ListLink, objectPage } from "../../components/object-page.tsx";
import { PageHead, Section } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { duration } from "../../format/ages.ts";
import { namespaceOf } from "../../settings.ts";
import { sentence, t } from "../../texts/text.tsx";
import { aboutRole, roleName } from "../access/role-name.ts";
import { Rules } from "../access/role-page.tsx";
import {
  addressOfPlace,
  approversOf,
  decidersOf,
  decisionsOf,
  placeText,
  requestTitle,
  shownPhase,
} from "./request-state.ts";
import { PhaseBadge } from "./requests-page.tsx";

export const RequestPage = objectPage<AccessRequest>(
  "request",
  () => ACCESS_REQUESTS,
  (request) => <RequestView request={request} />,
);

function RequestView({ request }: { readonly request: AccessRequest }) {
  const { spec, status = {}, metadata } = request;
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
      <DescriptionCard
        items={[
          [t("field.state"), <PhaseBadge key="phase" request={request} />],
          [t("requests.column.requester"), <Requester key="requester" name={status.requester?.user ?? ""} />],
          [
            t("request.place"),
            <Link key="place" to={addressOfPlace(spec)}>
              {placeText(spec)}
            </Link>,
          ],
          spec.role !== undefined && [t("field.role"), <code key="role">{spec.role}</code>],
          [t("requests.column.duration"), duration(Number(status.durationSeconds ?? 0))],
          [
            t(`request.time.${timeShown(phase)}`),
            <Time key="ends" at={status.endedTimestamp ?? status.expirationTimestamp} otherwise="–" />,
          ],
          decidersOf(request) !== "" && [t("requests.column.decided"), decidersOf(request)],
          [t("request.policy"), <Policy key="policy" request={request} />],
          [t("field.name"), <code key="name">{nameOf(request)}</code>],
          [t("requests.column.asked"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
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

/** With the teams, where the user may see them: approvers know people by their teams. */
function Requester({ name }: { readonly name: string }) {
  const { object } = useLiveObject<User>(USERS, name);
  const { teams = [] } = object?.status ?? {};
  return (
    <span className="holders">
      <Link to="/users/$name" params={{ name }}>
        {name}
      </Link>
      {teams.map((team) => (
        <Link key={team} to="/teams/$name" params={{ name: team }}>
          {t("new.owner.team", { name: team })}
        </Link>
      ))}
    </span>
  );
}

/** The policy that allows the request, with those who approve, where the user may read it. */
function Policy({ request: { spec } }: { readonly request: AccessRequest }) {
  const { name, kind } = spec.policy;
  const address =
    kind === "AccessPolicy"
      ? inNamespace(ACCESS_POLICIES, namespaceOf(spec.target.project ?? ""))
      : CLUSTER_ACCESS_POLICIES;
  const { object } = useLiveObject<AccessPolicy>(address, name);
  const approvers = approversOf(object?.spec.approvers);
  return (
    <span className="two-lines">
      <span>
        {object?.spec.displayName ?? ""} <code>{name}</code>
      </span>
      {approvers !== "" && <span className="muted">{t("request.policy.approvers", { names: approvers })}</span>}
    </span>
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
    const body = { kind: "AccessApproval", spec };
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
