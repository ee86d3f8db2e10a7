<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US">
<context>
    <name>ConversationSettings</name>
    <message numerus="yes">
        <source>%n choice(s) differ from Settings.</source>
        <translation>
            <numerusform>%n choice differs from Settings.</numerusform>
            <numerusform>%n choices differ from Settings.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DeletedSheet</name>
    <message numerus="yes">
        <source>Erase %n conversation(s) for good?</source>
        <translation>
            <numerusform>Erase this conversation for good?</numerusform>
            <numerusform>Erase %n conversations for good?</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Notices</name>
    <message numerus="yes">
        <source>Imported %n conversation(s).</source>
        <translation>
            <numerusform>Imported one conversation.</numerusform>
            <numerusform>Imported %n conversations.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Deleted %n conversation(s).</source>
        <translation>
            <numerusform>Deleted one conversation.</numerusform>
            <numerusform>Deleted %n conversations.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Application</name>
    <message numerus="yes">
        <source>%n download(s) will resume next time.</source>
        <translation>
            <numerusform>One download will resume next time.</numerusform>
            <numerusform>%n downloads will resume next time.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>EngineRows</name>
    <message numerus="yes">
        <source>After %n minute(s) without a question</source>
        <translation>
            <numerusform>After one minute without a question</numerusform>
            <numerusform>After %n minutes without a question</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>After %n hour(s) without a question</source>
        <translation>
            <numerusform>After one hour without a question</numerusform>
            <numerusform>After %n hours without a question</numerusform>
        </translation>
    </message>
</context>
</TS>
