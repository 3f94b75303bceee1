// The fields for TTL and scope, for new and existing keys.

import type { ReactNode } from "react";
import { Checkbox, GroupError, RadioField, SelectField } from "../../../components/forms/fields.tsx";
import type { ErrorAt } from "../../../components/forms/place-errors.ts";
import { TextField } from "../../../components/forms/text-field.tsx";
import { duration } from "../../../format/ages.ts";
import { useNow } from "../../../format/now.ts";
import { named, t } from "../../../texts/text.tsx";
import { ScopePicker } from "../scopes/scope-picker.tsx";
import type { KeyDraft } from "./key-draft.ts";
import { dayOf, endText, ON_A_DAY, secondsUntil } from "./key-end.ts";

/** Seconds; `default`: the server's default; `0`: never expires. */
const LIVES = ["86400", "604800", "2592000", "5184000", "7776000", "31536000", ON_A_DAY, "default", "0"] as const;
const WEEK_MS = 7 * 86_400_000;

type Limits = Pick<
  KeyDraft,
  | "ttl"
  | "day"
  | "restarts"
  | "isLimited"
  | "projects"
  | "virtualClusters"
  | "selectors"
  | "spaces"
  | "clusters"
  | "roles"
>;

/** `begin`: when the TTL begins, in milliseconds; absent: now. `picker`: in place of all that a scope can have. */
export function KeyLimits(props: {
  readonly draft: Limits;
  readonly begin?: number;
  readonly onChange: (changes: Partial<Limits>) => void;
  readonly errorAt: ErrorAt;
  readonly picker?: ReactNode;
}) {
  const { draft, begin, onChange, errorAt, picker } = props;
  const now = useNow();
  const lives = LIVES.some((id) => id === draft.ttl) ? LIVES : [draft.ttl, ...LIVES];
  return (
    <>
      <SelectField
        label={t("field.expires")}
        value={draft.ttl}
        choices={lives.map((id) => ({
          id,
          label: LIVES.some((each) => each === id) ? named("new.life", id) : afterSeconds(id),
        }))}
        onChange={(ttl) =>
          onChange({ ttl, ...(ttl === ON_A_DAY && draft.day === "" ? { day: dayOf(now + WEEK_MS) } : {}) })
        }
        description={endText(draft, now, begin)}
        error={draft.ttl === ON_A_DAY ? undefined : errorAt("spec.ttl")}
      />
      {draft.ttl === ON_A_DAY && (
        <TextField
          label={t("new.day")}
          type="date"
          value={draft.day}
          onChange={(day) => onChange({ day })}
          description={t("new.day.hint")}
          error={secondsUntil(draft.day, now) === 0 ? t("new.day.over") : errorAt("spec.ttl")}
        />
      )}
      {draft.ttl !== "0" && draft.ttl !== ON_A_DAY && (
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
      {draft.isLimited && (picker ?? <ScopePicker draft={draft} onChange={onChange} />)}
      <GroupError text={errorAt("spec.scope")} />
    </>
  );
}

const afterSeconds = (seconds: string): string => t("new.life.after", { duration: duration(Number(seconds)) });
