"""The words of a site without Quarto, in the languages that courses are held in."""

from __future__ import annotations

_KEYS = (
    "pages previous next toc references note tip warning caution important fig tbl eq lst thm lem cor prp cnj def exm "
    "exr sol rem alg"
).split()
_WORDS = {
    "en": "Contents|Previous|Next|On this page|References|Note|Tip|Warning|Caution|Important|Figure|Table|Equation|"
    "Listing|Theorem|Lemma|Corollary|Proposition|Conjecture|Definition|Example|Exercise|Solution|Remark|Algorithm",
    "de": "Inhalt|Zurück|Weiter|Auf dieser Seite|Literatur|Hinweis|Tipp|Warnung|Vorsicht|Wichtig|Abbildung|Tabelle|"
    "Gleichung|Listing|Satz|Lemma|Korollar|Proposition|Vermutung|Definition|Beispiel|Übungsaufgabe|Lösung|Bemerkung|"
    "Algorithmus",
    "fr": "Sommaire|Précédent|Suivant|Sur cette page|Références|Note|Astuce|Avertissement|Mise en garde|Important|"
    "Figure|Tableau|Équation|Listing|Théorème|Lemme|Corollaire|Proposition|Conjecture|Définition|Exemple|Exercice|"
    "Solution|Remarque|Algorithme",
    "es": "Contenido|Anterior|Siguiente|En esta página|Referencias|Nota|Consejo|Advertencia|Precaución|Importante|"
    "Figura|Tabla|Ecuación|Listado|Teorema|Lema|Corolario|Proposición|Conjetura|Definición|Ejemplo|Ejercicio|"
    "Solución|Observación|Algoritmo",
    "it": "Indice|Precedente|Successivo|In questa pagina|Riferimenti|Nota|Suggerimento|Avvertenza|Attenzione|"
    "Importante|Figura|Tabella|Equazione|Listato|Teorema|Lemma|Corollario|Proposizione|Congettura|Definizione|"
    "Esempio|Esercizio|Soluzione|Osservazione|Algoritmo",
}


def site_words(language: str) -> dict[str, str]:
    """Return the words for a language (`de`, `de-CH`), in English if there are none."""
    words = _WORDS.get(language.lower().replace("_", "-").split("-")[0], _WORDS["en"])
    return dict(zip(_KEYS, words.split("|"), strict=True))
