// Asks for access for a time: by a policy that the user may ask by, at one of its places.

import type { AccessPolicy } from "@postern/api/access-policy";
import type { AccessRequest } from "@postern/api/access-request";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  ACCESS_POLICIES,
  ACCESS_REQUESTS,
  CLUSTER_ACCESS_POLICIES,
  nameOf,
  PROJECTS,
  titleOf,
  VIRTUAL_CLUSTERS,
} from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useSelf } from "../../api/use-self.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Checkbox, SelectField } from "../../components/forms/fields.tsx";
import { type FieldsProps, type FormDefinition, NewObject } from "../../components/forms/object-form.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { Loading } from "../../components/loading.tsx";
import { ListLink } from "../../components/object-page.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { duration } from "../../format/ages.ts";
import { nameFrom } from "../../format/name-from.ts";
import { projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { aboutRole, roleName } from "../access/role-name.ts";
import {
  type AskDraft,
  durationsUpTo,
  type Offer,
  offerAt,
  offersFor,
  type Place,
  placeId,
  placesOf,
  policyId,
  rolesAt,
  specOfAsk,
} from "./ask-draft.ts";
import { approversOf } from "./request-state.ts";

export function AskPage() {
  const { session } = useApi();
  const everywhere = useLive<AccessPolicy>(CLUSTER_ACCESS_POLICIES);
  const inProjects = useLive<AccessPolicy>(ACCESS_POLICIES);
  const projects = useLive<Project>(PROJECTS);
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const self = useSelf();
  const isLoading = everywhere.isLoading || projects.isLoading || clusters.isLoading || self.isLoading;
  const teams = self.data?.user?.teams;
  const offers = useMemo(
    () =>
      offersFor(
        [...everywhere.items, ...inProjects.items].map((policy) => {
          const { namespace = "" } = policy.metadata;
          const project = namespace === "" ? "" : projectOf(namespace);
          return { id: policyId(project, nameOf(policy)), policy, project };
        }),
        { user: session.user, teams: (teams ?? []).map(({ name = "" }) => name) },
      ),
    [everywhere.items, inProjects.items, session.user, teams],
  );
  const seen = useMemo(
    () => ({
      projects: projects.items.map(nameOf),
      clusters: clusters.items.map((cluster) => ({
        project: projectOf(cluster.metadata.namespace ?? ""),
        name: nameOf(cluster),
        labels: cluster.metadata.labels ?? {},
      })),
    }),
    [projects.items, clusters.items],
  );
  if (isLoading) return <Loading />;
  if (offers.length === 0)
    return (
      <>
        <PageHead above={<ListLink kind="request" />} title={t("request.new")} lead={t("request.new.lead")} />
        <EmptyState title={t("request.noPolicy.title")}>{t("request.noPolicy.text")}</EmptyState>
      </>
    );
  return <AskForm user={session.user} offers={offers} seen={seen} />;
}

type Seen = Parameters<typeof placesOf>[1];

function AskForm({
  user,
  offers,
  seen,
}: {
  readonly user: string;
  readonly offers: readonly Offer[];
  readonly seen: Seen;
}) {
  const search: { readonly [name: string]: string } = useSearch({ strict: false });
  // Read when the page opens: policies and clusters that change meanwhile do not change the draft.
  const [form] = useState(() => {
    const { policy = "", project = "", virtualCluster = "", cluster = "", role = "" } = search;
    const asked = { project, virtualCluster, cluster };
    const offer =
      offers.find(({ id }) => id === policy) ??
      (placeId(asked) === "" ? undefined : offerAt(offers, asked, seen)) ??
      offers[0];
    const empty: AskDraft = {
      name: `${nameFrom(user).slice(0, 40) || "request"}-${crypto.randomUUID().slice(0, 6)}`,
      ...{ policy: "", project: "", virtualCluster: "", cluster: "", role: "", duration: "", reason: "" },
      emergency: false,
    };
    const chosen = offer === undefined ? {} : chooseOffer(offer, seen, placeId(asked) === "" ? undefined : asked, role);
    return askForm({ ...empty, ...chosen }, offers, seen);
  });
  return <NewObject form={form} title={t("request.new")} lead={t("request.new.lead")} />;
}

/** The draft's values for a policy: its only place, the first role there, and its longest duration up to an hour. */
function chooseOffer(offer: Offer, seen: Seen, asked?: Place, role = ""): Partial<AskDraft> {
  const [first = NO_PLACE, ...others] = placesOf(offer, seen);
  const place = asked ?? (others.length === 0 ? first : NO_PLACE);
  const durations = durationsUpTo(offer.policy.spec.maxDurationSeconds);
  const usual = durations.filter((seconds) => seconds <= 3_600).at(-1) ?? durations[0];
  return { policy: offer.id, ...choosePlace(offer, place, role), duration: String(usual), emergency: false };
}

const NO_PLACE: Place = { project: "", virtualCluster: "", cluster: "" };

/** Whether the user has still to choose one of several places. */
const isToChoose = (draft: AskDraft, places: readonly Place[]): boolean => places.length > 0 && placeId(draft) === "";

function choosePlace(offer: Offer, place: Place, role = ""): Partial<AskDraft> {
  const roles = placeId(place) === "" ? [] : rolesAt(offer, place);
  return { ...place, role: roles.includes(role) ? role : (roles[0] ?? "") };
}

const askForm = (empty: AskDraft, offers: readonly Offer[], seen: Seen): FormDefinition<AskDraft, AccessRequest> => ({
  page: "request",
  submit: "request.send",
  kindOf: () => "AccessRequest",
  empty,
  // Requests are not edited.
  draftOf: () => empty,
  contentOf: (draft) => ({ spec: specOfAsk(draft) }),
  addressOf: () => ACCESS_REQUESTS,
  viewOf: ({ name }) => `/access-requests/${name}`,
  missingOf(draft) {
    if (placeId(draft) !== "") return undefined;
    const offer = offers.find(({ id }) => id === draft.policy);
    const isMissing = offer !== undefined && isToChoose(draft, placesOf(offer, seen));
    return isMissing ? { path: "spec.target", text: t("request.place.choose") } : undefined;
  },
  paths: ["spec.policy", "spec.target", "spec.role", "spec.durationSeconds", "spec.reason", "spec.emergency"],
  fieldsOf: (props) => <Fields {...props} offers={offers} seen={seen} />,
});

function Fields(props: FieldsProps<AskDraft> & { readonly offers: readonly Offer[]; readonly seen: Seen }) {
  const { draft, errorAt, field, onChange, offers, seen } = props;
  const offer = offers.find(({ id }) => id === draft.policy);
  const places = useMemo(() => (offer === undefined ? [] : placesOf(offer, seen)), [offer, seen]);
  const placeChoices = useMemo(
    () =>
      places.map((each) => ({
        id: placeId(each),
        label: each.cluster || [each.project, each.virtualCluster].filter(Boolean).join(" / "),
      })),
    [places],
  );
  const policyChoices = useMemo(
    () =>
      offers.map(({ id, policy }) => ({
        id,
        label: titleOf(policy),
        ...(policy.spec.description ? { description: policy.spec.description } : {}),
      })),
    [offers],
  );
  const place: Place = { project: draft.project, virtualCluster: draft.virtualCluster, cluster: draft.cluster };
  const isOpen = isToChoose(draft, places);
  const roles = offer === undefined || isOpen ? [] : rolesAt(offer, place);
  const spec = offer?.policy.spec;
  const approvers = approversOf(spec?.approvers);
  const isListed = places.some((each) => placeId(each) === placeId(place));
  return (
    <>
      <SelectField
        label={t("request.policy")}
        value={draft.policy}
        choices={policyChoices}
        onChange={(id) => {
          const chosen = offers.find((each) => each.id === id);
          if (chosen !== undefined) onChange(chooseOffer(chosen, seen));
        }}
        description={approvers === "" ? undefined : t("request.policy.approvers", { names: approvers })}
        error={errorAt("spec.policy")}
      />
      {isOpen || isListed ? (
        <SelectField
          label={t("request.place")}
          value={placeId(place)}
          choices={placeChoices}
          onChange={(id) => {
            const chosen = places.find((each) => placeId(each) === id);
            if (chosen !== undefined && offer !== undefined) onChange(choosePlace(offer, chosen));
          }}
          error={errorAt("spec.target")}
          placeholder={t("request.place.choose")}
        />
      ) : (
        <PlaceFields place={place} error={errorAt("spec.target")} onChange={(to) => onChange({ ...place, ...to })} />
      )}
      {roles.length > 0 && (
        <SelectField
          label={t("field.role")}
          {...field("role", "spec.role")}
          choices={roles.map((id) => ({ id, label: roleName(id) }))}
          description={aboutRole(draft.role)}
        />
      )}
      <SelectField
        label={t("requests.column.duration")}
        {...field("duration", "spec.durationSeconds")}
        choices={durationsUpTo(spec?.maxDurationSeconds ?? 3_600).map((seconds) => ({
          id: String(seconds),
          label: duration(seconds),
        }))}
        description={t("request.duration.hint")}
      />
      <TextField
        label={t("request.reason")}
        {...field("reason", "spec.reason")}
        description={
          spec?.reason?.pattern === undefined
            ? t("request.reason.hint")
            : t("request.reason.pattern", { pattern: spec.reason.pattern })
        }
        isMultiline
        isRequired={spec?.reason?.required === true || spec?.reason?.pattern !== undefined}
      />
      {spec?.allowEmergency === true && (
        <Checkbox
          isSelected={draft.emergency}
          onChange={(emergency) => onChange({ emergency })}
          description={t("request.emergency.hint")}
        >
          {t("request.emergency")}
        </Checkbox>
      )}
    </>
  );
}

/** For places that the user cannot see, and that the policy does not name. */
function PlaceFields(props: {
  readonly place: Place;
  readonly error: string | undefined;
  readonly onChange: (changes: Partial<Place>) => void;
}) {
  const { place, error, onChange } = props;
  return (
    <div className="columns">
      <TextField
        label={t("field.project")}
        value={place.project}
        onChange={(project) => onChange({ project })}
        error={error}
        isMonospace
      />
      <TextField
        label={t("field.virtualCluster")}
        value={place.virtualCluster}
        onChange={(virtualCluster) => onChange({ virtualCluster })}
        isMonospace
      />
      <TextField
        label={t("request.cluster")}
        value={place.cluster}
        onChange={(cluster) => onChange({ cluster })}
        isMonospace
      />
    </div>
  );
}
