"""Frequent words of some languages, which say nothing about a text's subject."""

STOPWORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        """a about above after again all almost also although always am among an and another any are as at away be
        because been before being below between both but by can cannot case could did do does doing done down
        each either else enough even ever every few find first for from further get give given go good had has
        have having he her here hers him his how however i if in instead into is it its itself just know last
        least less let like little look made make makes many may me might more most much must my near need
        never next no nor not nothing now of off often on once one only or other others our out over own part
        people quite rather really same say see several shall she should show since so some something still
        such take than that the their them then there therefore these they thing things this those though
        three through thus time to together too two under until up upon us use used uses using very want was
        way we well were what when where whether which while who whole whom whose why will with within without
        would yet you your""".split()
    ),
    "de": frozenset(
        """aber alle allem allen aller alles als also am an andere anderen anders auch auf aus bei beide beiden beim
        bereits bis da dabei dadurch daher damit dann daran darauf daraus darin das dass dazu dem den denen
        denn der deren des deshalb dessen die dies diese diesem diesen dieser dieses doch dort du durch ebenso
        ein eine einem einen einer eines einige er es etwa etwas für fast ganz gar gegen genau gibt haben hat
        hatte hier ich ihm ihn ihr ihre ihrem ihren ihrer im immer in indem ist ja jede jedem jeden jeder
        jedes jedoch kann kein keine keinen können könnte lässt macht man mehr mein mit muss müssen nach nicht
        nichts noch nun nur ob oder oft ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so
        sodass solche soll sollte sondern sowie statt über um und uns unser unter viel viele vom von vor wann
        war waren warum was weder weil weit welche welcher wenig wenn wer werden wie wieder will wir wird wo
        wurde wurden während zu zum zur zwar zwei zwischen""".split()
    ),
    "fr": frozenset(
        """ai ainsi alors après au aucun aussi autre autres aux avant avec avoir beaucoup bien car ce cela celle celui
        ces cet cette ceux chaque chez comme comment contre d dans de depuis des deux doit donc dont du elle
        elles en encore entre est et être étaient était eux fait faire fois font il ils j je jusque l la le
        les leur leurs lors lorsque lui m mais même mêmes moins mon n ne ni non nos notre nous on ont ou où
        par parce pas peu peut peuvent plus plutôt pour pourquoi près qu quand que quel quelle quelles quels
        qui quoi s sa sans se selon sera ses si sinon soit son sont sous souvent sur tant tel telle tout toute
        toutes tous très trop un une vers voici vos votre vous y""".split()
    ),
    "es": frozenset(
        """a al algo algunas algunos ante antes aquí así aunque bien cada como con contra cual cuando de del desde donde
        dos durante e el ella ellas ellos en entre era es esa esas ese eso esos esta estas este esto estos
        está están fue ha han hasta hay la las le les lo los más me mi mismo mucho muy nada ni no nos nosotros
        o otra otras otro otros para pero poco por porque puede pueden que quien se según ser si sido sin
        sobre son su sus también tan tanto te tiene toda todas todo todos tres tu un una uno unos y ya yo""".split()
    ),
    "it": frozenset(
        """a ad agli ai al alla alle allo altra altre altri altro anche ancora c che chi ci ciò come con così cui da
        dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove due e è ed essere fra già
        gli ha hanno i il in io la le lei li lo loro lui ma mentre mi molto ne negli nei nel nella nelle nello
        noi non nostro o ogni ogni per perché più poi può qua quale quando quello quella questa queste questi
        questo qui se sé senza si sia sono su sua sue sui sul sulla sulle suo suoi tra tutta tutte tutti tutto
        un una uno""".split()
    ),
}
