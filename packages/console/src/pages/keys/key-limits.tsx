// The fields for TTL and scope, for new and existing keys.

import { Checkbox, GroupError, RadioField, SelectField } from "../../components/fields.tsx";
import type { ErrorAt } from "../../components/object-form.tsx";
import { duration } from "../../format/ages.ts";
import { named, t } from "../../texts/text.tsx";
import type { KeyDraft } from "./key-draft.ts";
import { ScopePicker } from "./scope-picker.tsx";

/** Seconds; `default`: the server's default; `0`: never expires. */
const LIVES = ["86400", "604800", "2592000", "5184000", "7776000", "31536000", "default", "0"] as const;

type Limits = Omit<KeyDraft, "name" | "displayName" | "description" | "owner">;

/** `errorAt`: absent if errors are shown elsewhere. */
export function KeyLimits(props: {
  readonly draft: Limits;
  readonly onChange: (changes: Partial<Limits>) => void;
  readonly errorAt?: ErrorAt;
}) {
  const { draft, onChange, errorAt } = props;
  const lives = LIVES.some((id) => id === draft.ttl) ? LIVES : [draft.ttl, ...LIVES];
  return (
    <>
      <SelectField
        label={t("new.life")}
        value={draft.ttl}
        choices={lives.map((id) => ({
          id,
          label: LIVES.some((each) => each === id) ? named("new.life", id) : afterSeconds(id),
        }))}
        onChange={(ttl) => onChange({ ttl })}
        description={t("new.life.hint")}
        error={errorAt?.("spec.ttl")}
      />
      {draft.ttl !== "0" && (
        <Checkbox
          isSelected={draft.restarts}
          onChange={(restarts) => onChange({ restarts })}
          description={t("new.restarts.hint")}
        >
          {t("new.restarts")}
        </Checkbox>
      )}
      <RadioField
        label={t("new.scope")}
        value={draft.isLimited ? "limited" : "full"}
        choices={[
          { id: "limited", label: t("new.scope.limited"), description: t("new.scope.limited.hint") },
          { id: "full", label: t("new.scope.full"), description: t("new.scope.full.hint") },
        ]}
        onChange={(id) => onChange({ isLimited: id === "limited" })}
      />
      {draft.isLimited && <ScopePicker draft={draft} onChange={onChange} />}
      <GroupError text={errorAt?.("spec.scope")} />
    </>
  );
}

const afterSeconds = (seconds: string): string => t("new.life.after", { duration: duration(Number(seconds)) });
