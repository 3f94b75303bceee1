// Light, dark or system theme. The choice is stored in this browser; index.html applies it before the first paint.

import { useState } from "react";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const YEAR = 31_536_000;
const STORED = "postern-theme";

export const nextTheme = (theme: Theme): Theme => THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => themeOf(localStorage.getItem(STORED)));
  const choose = (chosen: Theme): void => {
    setTheme(chosen);
    // For the pages that the server itself makes, such as sign-in without JavaScript.
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser, and the value is one of three words
    document.cookie = `__Host-theme=${chosen}; Path=/; Secure; SameSite=Lax; Max-Age=${chosen === "system" ? 0 : YEAR}`;
    const { dataset } = document.documentElement;
    if (chosen === "system") {
      localStorage.removeItem(STORED);
      delete dataset["theme"];
    } else {
      localStorage.setItem(STORED, chosen);
      dataset["theme"] = chosen;
    }
  };
  return [theme, choose];
}

const themeOf = (text: string | null): Theme => THEMES.find((theme) => theme === text) ?? "system";
