// Connects a cluster, and edits a host cluster: names, owner, and how the server reaches it.

import type { Cluster } from "@postern/api/cluster";
import { CLUSTERS } from "../../api/resources.ts";
import { Checkbox, type Choice, GroupError, RadioField } from "../../components/forms/fields.tsx";
import { type FieldsProps, formPages } from "../../components/forms/object-form.tsx";
import { OwnedFields } from "../../components/forms/owned-fields.tsx";
import { SecretFields } from "../../components/forms/secret-fields.tsx";
import { t } from "../../texts/text.tsx";
import { EMPTY_HOST, type HostDraft, hostDraftOf, hostSpecOf } from "./host-draft.ts";

export const { New: NewHostPage, Edit: EditHostPage } = formPages<HostDraft, Cluster>({
  page: "host",
  kind: "Cluster",
  address: CLUSTERS,
  title: "host.new",
  lead: "host.new.lead",
  empty: EMPTY_HOST,
  draftOf: hostDraftOf,
  contentOf: (draft) => ({ spec: hostSpecOf(draft) }),
  paths: ["spec.owner", "spec.networkPeer", "spec.kubeConfigRef", "spec.usable", "spec.unusable"],
  fieldsOf: (props) => <Fields {...props} />,
});

const WAYS: readonly Choice<HostDraft["way"]>[] = [
  { id: "agent", label: t("host.way.agent"), description: t("host.way.agent.hint") },
  { id: "kubeconfig", label: t("host.way.kubeconfig"), description: t("host.way.kubeconfig.hint") },
];

function Fields(props: FieldsProps<HostDraft>) {
  const { draft, errorAt, onChange } = props;
  return (
    <>
      <OwnedFields {...props} />
      {draft.way !== "local" && (
        <RadioField label={t("host.way")} value={draft.way} choices={WAYS} onChange={(way) => onChange({ way })} />
      )}
      <GroupError text={errorAt("spec.networkPeer")} />
      {draft.way === "kubeconfig" && (
        <SecretFields
          label={t("host.secret")}
          hint={t("host.secret.hint")}
          secret={draft.secret}
          defaults={{ name: draft.name, key: "config" }}
          error={errorAt("spec.kubeConfigRef")}
          onChange={(secret) => onChange({ secret })}
        />
      )}
      <Checkbox
        isSelected={draft.isClosed}
        onChange={(isClosed) => onChange({ isClosed })}
        description={t("host.closed.hint")}
      >
        {t("host.closed")}
      </Checkbox>
      <GroupError text={errorAt("spec.usable") ?? errorAt("spec.unusable")} />
    </>
  );
}
