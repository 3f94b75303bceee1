// The abilities of a key, and surprising limits, as lists of sentences.

import type { KeyScope } from "@postern/api/access-key-scope";
import { Check, X } from "lucide-react";
import { t } from "../../../texts/text.tsx";
import { scopeWords } from "./scope-words.ts";

export function ScopeList(props: {
  readonly limits: { readonly scope?: KeyScope | undefined; readonly rules?: readonly unknown[] | undefined };
}) {
  const { can, cannot } = scopeWords(props.limits);
  return (
    <div className="scope-list">
      <div>
        <h3>{t("scope.can")}</h3>
        <ul>
          {can.map(({ text, names }) => (
            <li key={text}>
              <Check aria-hidden="true" className="lucide yes" />
              {names === undefined ? (
                text
              ) : (
                <details className="names">
                  <summary>{text}</summary>
                  <p className="mono">{names.join(", ")}</p>
                </details>
              )}
            </li>
          ))}
        </ul>
      </div>
      {cannot.length > 0 && (
        <div>
          <h3>{t("scope.cannot")}</h3>
          <ul>
            {cannot.map((words) => (
              <li key={words}>
                <X aria-hidden="true" className="lucide no" />
                {words}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
